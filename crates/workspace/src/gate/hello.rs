//! The name that a TLS client says it wants, read from its first message.
//!
//! Law: nothing is changed and nothing decrypted; the name stands in the open. What is no first
//! message of TLS is not judged here.

/// What the first bytes of a tunnel are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// More bytes may tell.
    Unfinished,
    /// The name, where there is one.
    Names(Option<String>),
    /// Another protocol.
    Other,
}

/// A client's first message is shorter, unless it wants to hide something.
pub(super) const LONGEST: usize = 32 * 1024;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

pub(super) fn read(bytes: &[u8]) -> Hello {
    match message(bytes) {
        Ok(message) => match server_name(&message) {
            Some(name) => Hello::Names(name),
            None => Hello::Other,
        },
        Err(unclear) => unclear,
    }
}

/// The first message, put together from its records.
fn message(bytes: &[u8]) -> Result<Vec<u8>, Hello> {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(Hello::Other);
        }
        if let [_, a, b, c, ..] = message[..] {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if length > LONGEST {
                return Err(Hello::Other);
            }
            if let Some(whole) = message.get(4..4 + length) {
                return Ok(whole.to_vec());
            }
        }
        if rest.first().is_some_and(|kind| *kind != HANDSHAKE) {
            return Err(Hello::Other);
        }
        if rest.get(1).is_some_and(|major| *major != 3) {
            return Err(Hello::Other);
        }
        let [_, _, _, high, low, body @ ..] = rest else { return Err(Hello::Unfinished) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let Some((part, after)) = body.split_at_checked(length) else {
            return Err(Hello::Unfinished);
        };
        if part.is_empty() {
            return Err(Hello::Other);
        }
        message.extend_from_slice(part);
        rest = after;
    }
}

/// `None` if it is no such message.
fn server_name(message: &[u8]) -> Option<Option<String>> {
    // Version and random number.
    let rest = message.get(34..)?;
    let (_session, rest) = short(rest)?;
    let (_ciphers, rest) = long(rest)?;
    let (_compression, rest) = short(rest)?;
    if rest.is_empty() {
        return Some(None);
    }
    let (mut extensions, _) = long(rest)?;
    while let [a, b, after @ ..] = extensions {
        let (content, rest) = long(after)?;
        extensions = rest;
        if u16::from_be_bytes([*a, *b]) != SERVER_NAME {
            continue;
        }
        let (names, _) = long(content)?;
        let (kind, name) = names.split_first()?;
        let (name, _) = long(name)?;
        let name = std::str::from_utf8(name).ok().filter(|_| *kind == HOST_NAME)?;
        return Some(Some(name.to_owned()));
    }
    Some(None)
}

/// A piece with its length in one byte, and what follows it.
fn short(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

/// The same with two bytes.
fn long(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [high, low, rest @ ..] = bytes else { return None };
    rest.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a client would send first, in records of at most `most` bytes.
    pub(crate) fn greeting(name: Option<&str>, most: usize) -> Vec<u8> {
        let sized =
            |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
        let mut extensions = [&[0, 43][..], &sized(&[2, 3, 4])].concat();
        if let Some(name) = name {
            let entry = [&[HOST_NAME][..], &sized(name.as_bytes())].concat();
            extensions.extend([&[0, 0][..], &sized(&sized(&entry))].concat());
        }
        let mut body = [&[3, 3][..], &[7; 32], &[0]].concat();
        body.extend(sized(&[0x13, 0x01]));
        body.extend([1, 0]);
        body.extend(sized(&extensions));
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[CLIENT_HELLO][..], &length[1..], &body].concat();
        let record = |part: &[u8]| [&[HANDSHAKE, 3, 1][..], &sized(part)].concat();
        message.chunks(most).flat_map(record).collect()
    }

    #[test]
    fn the_name_is_found_however_it_is_cut() {
        for most in [1, 7, 50, 16_384] {
            let bytes = greeting(Some("example.org"), most);
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut]), Hello::Unfinished, "{most} {cut}");
            }
            assert_eq!(read(&bytes), Hello::Names(Some("example.org".into())));
            let more = [&bytes[..], b"and more"].concat();
            assert_eq!(read(&more), Hello::Names(Some("example.org".into())));
        }
        assert_eq!(read(&greeting(None, 100)), Hello::Names(None));
    }

    #[test]
    fn other_protocols_are_left_alone() {
        let cases: &[&[u8]] = &[
            b"GET / HTTP/1.1\r\n",
            b"SSH-2.0-x\r\n",
            &[HANDSHAKE, b'x'],
            &[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0],
            &[HANDSHAKE, 3, 1, 0, 0],
            &[HANDSHAKE, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff],
            &[HANDSHAKE, 3, 1, 0, 5, 1, 0, 0, 1, 0],
        ];
        for bytes in cases {
            assert_eq!(read(bytes), Hello::Other, "{bytes:?}");
        }
    }
}
