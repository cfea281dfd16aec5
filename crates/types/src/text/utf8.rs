//! Bytes that arrive in chunks, turned into text.
//!
//! Law: the text is that of the whole stream, however it was cut: a character split between two
//! chunks stays whole, and only bytes that are truly invalid become U+FFFD.

/// Decodes one stream of bytes.
#[derive(Debug, Default)]
pub struct Utf8Stream {
    /// The start of a character whose rest has not arrived, three bytes at most.
    unfinished: Vec<u8>,
}

impl Utf8Stream {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The characters that the next chunk completes.
    pub fn push(&mut self, chunk: &[u8]) -> String {
        if self.unfinished.is_empty() {
            return self.decode(chunk);
        }
        let mut bytes = std::mem::take(&mut self.unfinished);
        bytes.extend_from_slice(chunk);
        self.decode(&bytes)
    }

    /// The end of the stream: a character that was never completed is invalid.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)).into_owned()
    }

    fn decode(&mut self, bytes: &[u8]) -> String {
        let (complete, unfinished) = bytes.split_at(bytes.len() - unfinished_length(bytes));
        self.unfinished.extend_from_slice(unfinished);
        String::from_utf8_lossy(complete).into_owned()
    }
}

/// How many bytes at the end begin a character that more bytes could complete.
pub fn unfinished_length(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    (1..=longest)
        .find(|&length| {
            std::str::from_utf8(&bytes[bytes.len() - length..])
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Utf8Stream;
    use proptest::prelude::*;

    fn decoded<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut stream = Utf8Stream::new();
        let text: String = chunks.into_iter().map(|chunk| stream.push(chunk)).collect();
        text + &stream.finish()
    }

    #[test]
    fn known_streams() {
        let cases: &[(&[&[u8]], &str)] = &[
            (&[], ""),
            (&[b"plain"], "plain"),
            (&[b"caf\xc3", b"\xa9!"], "café!"),
            (&[b"\xf0", b"\x9f", b"\x98", b"\x80"], "😀"),
            (&[b"\xf0\x9f\x98"], "\u{fffd}"),
            (&[b"a\xffb\x80c"], "a\u{fffd}b\u{fffd}c"),
            (&[b"\xe2\x82", b"x"], "\u{fffd}x"),
            (&[b"\xed", b"\xa0\x80"], "\u{fffd}\u{fffd}\u{fffd}"),
        ];
        for (chunks, text) in cases {
            assert_eq!(&decoded(chunks.iter().copied()), text, "{chunks:?}");
        }
    }

    #[test]
    fn whole_characters_are_not_held_back() {
        assert_eq!(Utf8Stream::new().push("é漢😀".as_bytes()), "é漢😀");
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(text in any::<String>(), noise in prop::collection::vec(0x7fu8.., 0..12)) {
            let bytes = [text.as_bytes(), &noise, text.as_bytes()].concat();
            let whole = String::from_utf8_lossy(&bytes);
            prop_assert_eq!(&decoded(bytes.chunks(1)), &whole);
            for cut in 0..=bytes.len() {
                prop_assert_eq!(&decoded([&bytes[..cut], &bytes[cut..]]), &whole);
            }
        }
    }
}
