//! The name that a TLS client says it wants, read from its first message.
//!
//! Law: nothing is changed and nothing decrypted; the name stands in the open. What is not TLS is
//! not judged here; what is TLS and cannot be read to its name is never taken for something else.

/// The protocol of a tunnel, by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// More bytes may tell.
    Unfinished,
    /// The name, where there is one.
    Names(Option<String>),
    /// TLS, but too long, or not as TLS has it: a server might find another name in it than we.
    Unclear,
    /// Another protocol.
    Other,
}

/// A client's first message is shorter, unless it wants to hide something.
pub(super) const LONGEST: usize = 32 * 1024;

/// All kinds of records that TLS has; a server may put up with others before the first handshake.
const RECORDS: std::ops::RangeInclusive<u8> = 20..=24;
const HANDSHAKE: u8 = 22;
/// Of every version there is.
const MAJOR_VERSION: u8 = 3;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

pub(super) fn read(bytes: &[u8]) -> Hello {
    match *bytes {
        [] => return Hello::Unfinished,
        [kind] if RECORDS.contains(&kind) => return Hello::Unfinished,
        [kind, MAJOR_VERSION, ..] if RECORDS.contains(&kind) => {}
        _ => return Hello::Other,
    }
    match message(bytes) {
        Ok(message) => server_name(&message).map_or(Hello::Unclear, Hello::Names),
        Err(Hello::Unfinished) if bytes.len() > LONGEST => Hello::Unclear,
        Err(other) => other,
    }
}

/// The first message, put together from its records.
fn message(bytes: &[u8]) -> Result<Vec<u8>, Hello> {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(Hello::Unclear);
        }
        if let [_, a, b, c, ..] = message[..] {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if length > LONGEST {
                return Err(Hello::Unclear);
            }
            if let Some(whole) = message.get(4..4 + length) {
                return Ok(whole.to_vec());
            }
        }
        if rest.first().is_some_and(|kind| *kind != HANDSHAKE) {
            return Err(Hello::Unclear);
        }
        if rest.get(1).is_some_and(|major| *major != MAJOR_VERSION) {
            return Err(Hello::Unclear);
        }
        let [_, _, _, high, low, body @ ..] = rest else { return Err(Hello::Unfinished) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let Some((part, after)) = body.split_at_checked(length) else {
            return Err(Hello::Unfinished);
        };
        if part.is_empty() {
            return Err(Hello::Unclear);
        }
        message.extend_from_slice(part);
        rest = after;
    }
}

/// `None` if it is no such message, or says more than one name.
fn server_name(message: &[u8]) -> Option<Option<String>> {
    // Version and random number.
    let rest = message.get(34..)?;
    let (_session, rest) = short(rest)?;
    let (_ciphers, rest) = long(rest)?;
    let (_compression, rest) = short(rest)?;
    if rest.is_empty() {
        return Some(None);
    }
    let mut extensions = whole(long(rest)?)?;
    let mut found = None;
    while !extensions.is_empty() {
        let [a, b, after @ ..] = extensions else { return None };
        let (content, rest) = long(after)?;
        extensions = rest;
        if u16::from_be_bytes([*a, *b]) != SERVER_NAME {
            continue;
        }
        let (kind, name) = whole(long(content)?)?.split_first()?;
        let name = std::str::from_utf8(whole(long(name)?)?).ok()?;
        if *kind != HOST_NAME || found.replace(name.to_owned()).is_some() {
            return None;
        }
    }
    Some(found)
}

/// A piece that nothing follows.
fn whole<'a>((piece, rest): (&'a [u8], &[u8])) -> Option<&'a [u8]> {
    rest.is_empty().then_some(piece)
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

    /// The first message of a client, in records of at most `most` bytes.
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
        let cases: &[&[u8]] = &[b"GET / HTTP/1.1\r\n", b"SSH-2.0-x\r\n", &[HANDSHAKE, b'x']];
        for bytes in cases {
            assert_eq!(read(bytes), Hello::Other, "{bytes:?}");
        }
    }

    #[test]
    fn tls_that_cannot_be_read_to_its_name_is_unclear() {
        const WARNING: &[u8] = &[21, 3, 1, 0, 2, 1, 0];
        let good = greeting(Some("example.org"), 16_384);
        let at = memchr::memmem::find(&good, b"example.org").unwrap();
        let mut odd_kind = good.clone();
        odd_kind[at - 3] = 1;
        let mut two_names = good.clone();
        two_names[at - 1] -= 4;
        let mut no_name_kind = good.clone();
        no_name_kind[at - 8] = 0xff;
        let cases: &[&[u8]] = &[
            &[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0],
            &[HANDSHAKE, 3, 1, 0, 0],
            // Longer than we read, by what it says or by what there is of it.
            &[HANDSHAKE, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff],
            &[&[HANDSHAKE, 3, 1, 0xff, 0xff][..], &[1; LONGEST]].concat(),
            &[HANDSHAKE, 3, 1, 0, 5, 1, 0, 0, 1, 0],
            // Servers put up with these, and would read on.
            &[WARNING, &good].concat(),
            &[&[HANDSHAKE, 3, 1, 0, 0][..], &good].concat(),
            &odd_kind,
            &two_names,
        ];
        for bytes in cases {
            assert_eq!(read(bytes), Hello::Unclear, "{:?}", &bytes[..bytes.len().min(200)]);
        }
        // An extension of another kind is no name.
        assert_eq!(read(&no_name_kind), Hello::Names(None));
        assert_eq!(read(&twice(&good)), Hello::Unclear);
    }

    /// The same message with its last extension, the name, said once more.
    fn twice(good: &[u8]) -> Vec<u8> {
        let at = memchr::memmem::find(good, b"example.org").unwrap();
        let name = &good[at - 9..];
        let mut all = [good, name].concat();
        let more = u8::try_from(name.len()).unwrap();
        // The low bytes of three lengths: of the record, the message and the extensions.
        for length in [4, 8, at - 9 - 7 - 1] {
            all[length] += more;
        }
        all
    }
}
