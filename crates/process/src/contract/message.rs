//! Messages between processes of ours: a length of four bytes, then JSON.

use std::io::{Error, ErrorKind, Read, Result, Write};

use serde::{Deserialize, Serialize};

const MOST_BYTES: u32 = 64 * 1024 * 1024;

/// A length, then JSON: nothing that follows is read along.
pub(crate) fn send(mut to: impl Write, message: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    to.write_all(&[&length.to_ne_bytes(), text.as_slice()].concat())
}

pub(crate) fn receive<T: for<'de> Deserialize<'de>>(mut from: impl Read) -> Result<T> {
    let mut length = [0_u8; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_ne_bytes(length);
    if length > MOST_BYTES {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    let mut text = vec![0_u8; length as usize];
    from.read_exact(&mut text)?;
    serde_json::from_slice(&text).map_err(Error::from)
}
