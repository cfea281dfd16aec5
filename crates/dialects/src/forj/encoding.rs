//! Text from bytes, for results that name an encoding.

/// A text, and what its bytes were taken for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) encoding: &'static str,
    pub(super) text: String,
}

/// Judged by the start of the file; `bytes` are what is shown of it. Says why there is no text.
pub(super) fn decode(start: &[u8], bytes: &[u8], is_range: bool) -> Result<Decoded, &'static str> {
    let wide = match start {
        [0xff, 0xfe, ..] => Some(("utf-16le", u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, ..] => Some(("utf-16be", u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((encoding, unit)) = wide {
        if is_range {
            return Err("is UTF-16; read it without a range of lines");
        }
        let units: Vec<u16> =
            bytes.chunks_exact(2).skip(1).map(|pair| unit([pair[0], pair[1]])).collect();
        let text = String::from_utf16(&units).map_err(|_| "is a binary file")?;
        return Ok(Decoded { encoding, text });
    }
    if start.contains(&0) {
        return Err("is a binary file");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Decoded { encoding: "utf-8", text: text.to_owned() }),
        // A character cut in two by the limit.
        Err(error) if error.error_len().is_none() && error.valid_up_to() + 4 > bytes.len() => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            Ok(Decoded { encoding: "utf-8", text })
        }
        Err(_) => {
            let text = bytes.iter().map(|byte| char::from(*byte)).collect();
            Ok(Decoded { encoding: "iso-8859-1", text })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        type Expected = Result<(&'static str, &'static str), &'static str>;
        let cases: &[(&[u8], Expected)] = &[
            (b"abc", Ok(("utf-8", "abc"))),
            ("ä€".as_bytes(), Ok(("utf-8", "ä€"))),
            (&"ä€".as_bytes()[..4], Ok(("utf-8", "ä"))),
            (b"\xe4rger\n", Ok(("iso-8859-1", "ärger\n"))),
            (b"\xff\xfea\0\xe4\0", Ok(("utf-16le", "aä"))),
            (b"\xfe\xff\0a", Ok(("utf-16be", "a"))),
            (b"a\0b", Err("is a binary file")),
        ];
        for (bytes, expected) in cases {
            let found = decode(bytes, bytes, false);
            let found = found.as_ref().map(|found| (found.encoding, found.text.as_str()));
            assert_eq!(found.map_err(|why| *why), *expected, "{bytes:?}");
        }
        assert!(decode(b"\xff\xfea\0", b"a\0", true).is_err());
    }
}
