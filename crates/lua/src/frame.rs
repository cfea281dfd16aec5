//! Frames: a length of four bytes, then that many bytes of JSON.

use std::io::{Error, ErrorKind, Result};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A longer message is refused by both sides.
pub const MOST_BYTES: usize = 32 * 1024 * 1024;

const HEAD: usize = 4;

/// Bytes of messages that were taken; with more of them, the rest is moved to the front.
const KEPT: usize = 256 * 1024;

/// One message as bytes.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; HEAD];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - HEAD;
    if length > MOST_BYTES {
        let what = format!("a message of {length} bytes; at most {MOST_BYTES} are sent");
        return Err(Error::new(ErrorKind::InvalidData, what));
    }
    let head = u32::try_from(length).map_err(Error::other)?.to_le_bytes();
    bytes[..HEAD].copy_from_slice(&head);
    Ok(bytes)
}

/// Cuts a stream of bytes into messages.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    taken: usize,
}

impl FrameReader {
    /// Takes bytes as they came from the socket, whole frames or parts.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.bytes.len() || self.taken > KEPT {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let rest = &self.bytes[self.taken..];
        let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MOST_BYTES {
            return Err(Error::new(ErrorKind::InvalidData, "a message that is too long"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.taken += HEAD + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_however_they_are_cut() {
        let sent = ["", "a", "ü\n\"", &"x".repeat(70_000)].map(str::to_owned);
        let stream: Vec<u8> = sent.iter().flat_map(|text| encode(text).unwrap()).collect();
        for size in [1, 3, 4, 5, 1000, stream.len()] {
            let (mut reader, mut heard) = (FrameReader::default(), Vec::new());
            for piece in stream.chunks(size) {
                reader.push(piece);
                while let Some(text) = reader.take::<String>().unwrap() {
                    heard.push(text);
                }
            }
            assert_eq!(heard, sent, "in pieces of {size}");
        }
    }

    #[test]
    fn a_length_that_no_message_has_is_an_error() {
        let mut reader = FrameReader::default();
        reader.push(&u32::MAX.to_le_bytes());
        assert!(reader.take::<String>().is_err());
    }
}
