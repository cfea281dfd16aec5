//! The SHA-256 of a stream, a piece at a time.

use std::io::{ErrorKind, Read, Result};

use jm_types::{Digest, Hashing};

const PIECE_BYTES: usize = 64 * 1024;

/// Hashes all bytes of a reader: whatever their number, memory stays small.
pub fn hash_reader(mut reader: impl Read) -> Result<Digest> {
    let mut hashing = Hashing::default();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(hashing.finish()),
            Ok(count) => hashing.update(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_the_hash_of_its_bytes() {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 300_000] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            assert_eq!(hash_reader(&bytes[..]).unwrap(), Digest::of(&bytes));
        }
    }
}
