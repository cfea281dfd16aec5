//! A long file, read on one thread while it is searched on another.
//!
//! Law: the bytes are the file's, in their order; an error comes where it happened. Reading stops
//! when the search has enough. A file is not mapped into memory: another process that cuts it short meanwhile
//! would end the program.

use std::io::{ErrorKind, Read, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Few and small enough to stay in the cache, from one thread to the other and back.
const BUFFERS: usize = 4;
const BUFFER_BYTES: usize = 128 * 1024;

/// A buffer, and how much of it is filled.
type Piece = Result<(Vec<u8>, usize)>;

/// Does the work on the bytes of a file, and another thread reads ahead if there can be one.
pub(super) fn reading_ahead<T>(
    mut file: impl Read + Send + Copy,
    work: impl FnOnce(&mut dyn Read) -> T,
) -> T {
    let (give, pieces) = sync_channel(BUFFERS);
    let (give_back, free) = channel();
    for _ in 0..BUFFERS {
        // Never refused: the other end is here.
        give_back.send(vec![0; BUFFER_BYTES]).unwrap_or_default();
    }
    let ahead = Ahead { pieces, give_back, piece: Vec::new(), at: 0, end: 0 };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("jm-read".to_owned());
        match builder.spawn_scoped(scope, move || fill(file, &free, &give)) {
            // Let go when the work is done, so that the other thread ends.
            Ok(_) => work(&mut { ahead }),
            Err(_) => work(&mut file),
        }
    })
}

/// Fills buffers until the end, an error, or the end of the search.
fn fill(mut file: impl Read, free: &Receiver<Vec<u8>>, give: &SyncSender<Piece>) {
    for mut buffer in free {
        let piece = match file.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok((buffer, count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok((buffer, 0)),
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if give.send(piece).is_err() || is_last {
            return;
        }
    }
}

/// The bytes that were read ahead, piece by piece.
struct Ahead {
    pieces: Receiver<Piece>,
    give_back: Sender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    end: usize,
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.at == self.end {
            let Ok(next) = self.pieces.recv() else { return Ok(0) };
            let (piece, end) = next?;
            let used = std::mem::replace(&mut self.piece, piece);
            (self.at, self.end) = (0, end);
            if !used.is_empty() {
                // A reader that has ended needs it no more.
                self.give_back.send(used).unwrap_or_default();
            }
        }
        let count = into.len().min(self.end - self.at);
        into[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, interrupted now and then, and fails at a place.
    #[derive(Clone, Copy)]
    struct Slow<'a> {
        bytes: &'a [u8],
        turn: usize,
        fails: bool,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            self.turn += 1;
            if self.turn.is_multiple_of(3) {
                return Err(ErrorKind::Interrupted.into());
            }
            if self.bytes.is_empty() && self.fails {
                return Err(ErrorKind::ConnectionReset.into());
            }
            let count = into.len().min(self.turn * 7919).min(self.bytes.len());
            let (now, rest) = self.bytes.split_at(count);
            into[..count].copy_from_slice(now);
            self.bytes = rest;
            Ok(count)
        }
    }

    fn bytes() -> Vec<u8> {
        (0..3_000_017_u32).map(|number| (number % 251) as u8).collect()
    }

    #[test]
    fn the_bytes_are_those_of_the_file() {
        let bytes = bytes();
        for bytes in [&bytes[..], &bytes[..1], &[]] {
            let file = Slow { bytes, turn: 0, fails: false };
            let mut heard = Vec::new();
            reading_ahead(file, |reader| reader.read_to_end(&mut heard)).unwrap();
            assert!(heard == bytes, "{} of {} bytes", heard.len(), bytes.len());
        }
    }

    #[test]
    fn an_error_comes_where_it_happened() {
        let bytes = bytes();
        let file = Slow { bytes: &bytes, turn: 0, fails: true };
        let mut heard = Vec::new();
        let outcome = reading_ahead(file, |reader| reader.read_to_end(&mut heard));
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert!(heard == bytes, "{} of {} bytes", heard.len(), bytes.len());
    }

    /// Otherwise this would never end.
    #[test]
    fn who_has_enough_may_go() {
        let mut first = [0; 10];
        reading_ahead(Endless, |reader| reader.read_exact(&mut first)).unwrap();
        assert_eq!(first, [1; 10]);
        reading_ahead(Endless, |_| ());
    }

    #[derive(Clone, Copy)]
    struct Endless;

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            into.fill(1);
            Ok(into.len())
        }
    }
}
