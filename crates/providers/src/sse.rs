//! Server-sent events out of bytes, as they come.
//!
//! Law: the same bytes give the same events however they are cut; time is linear; one event takes
//! no more memory than the limit.

use std::collections::VecDeque;

/// The largest event accepted where nothing else is said.
pub const EVENT_LIMIT: usize = 16 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event of a server-sent event stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The `event` field; empty where there was none.
    pub name: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// An event is larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// An incremental parser of `text/event-stream`.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet, each line followed by a line feed.
    data: Vec<u8>,
    name: Vec<u8>,
    /// The last byte was a carriage return, whose line feed may follow.
    after_return: bool,
    /// No line has ended yet, so a byte order mark may lead.
    at_start: bool,
}

impl SseParser {
    /// A parser that refuses events of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            name: Vec::new(),
            after_return: false,
            at_start: true,
        }
    }

    /// Reads on. An event that the bytes leave unfinished waits for more; if none come, it never
    /// was one.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut VecDeque<SseEvent>,
    ) -> Result<(), TooLarge> {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            self.take(&bytes[..end])?;
            self.end_line(events)?;
            let returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if returned {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.take(bytes)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) -> Result<(), TooLarge> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            self.dispatch(events);
        } else {
            self.field(&line);
        }
        line.clear();
        self.line = line;
        Ok(())
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.name = value.to_vec(),
            // A comment, `id`, `retry`, or a field of tomorrow.
            _ => {}
        }
    }

    /// A blank line ends an event; without data it was none.
    fn dispatch(&mut self, events: &mut VecDeque<SseEvent>) {
        let name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_none() {
            return;
        }
        events.push_back(SseEvent { name: text(name), data: text(data) });
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(chunks: &[&[u8]]) -> Result<Vec<SseEvent>, TooLarge> {
        let mut parser = SseParser::new(1000);
        let mut events = VecDeque::new();
        for chunk in chunks {
            parser.push(chunk, &mut events)?;
        }
        Ok(events.into())
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn every_way_to_write_events() {
        let cases: &[(&str, &[u8], Vec<SseEvent>)] = &[
            ("plain", b"event: a\ndata: 1\n\n", vec![event("a", "1")]),
            ("CRLF", b"event: a\r\ndata: 1\r\n\r\n", vec![event("a", "1")]),
            ("CR", b"event: a\rdata: 1\r\r", vec![event("a", "1")]),
            ("BOM", b"\xef\xbb\xbfdata: 1\n\n", vec![event("", "1")]),
            ("many lines", b"data: 1\ndata: 2\ndata:\n\n", vec![event("", "1\n2\n")]),
            ("no space", b"data:1\n\n", vec![event("", "1")]),
            ("two spaces", b"data:  1\n\n", vec![event("", " 1")]),
            ("bare data line", b"data\n\n", vec![event("", "")]),
            ("comments", b": hi\n\n:\ndata: 1\n: x\n\n", vec![event("", "1")]),
            ("no data", b"event: a\n\ndata: 1\n\n", vec![event("", "1")]),
            ("other fields", b"id: 7\nretry: 1\nx: y\ndata: 1\n\n", vec![event("", "1")]),
            ("unfinished", b"data: 1\n\ndata: 2\n", vec![event("", "1")]),
            ("empty", b"", vec![]),
            ("blank lines", b"\n\n\r\n\r", vec![]),
            ("bad UTF-8", b"data: \xff\n\n", vec![event("", "\u{fffd}")]),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(parse(&[bytes]).as_ref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn an_event_beyond_the_limit_is_refused() {
        assert_eq!(parse(&[&[b'x'; 1001]]), Err(TooLarge));
        let line = [b"data: ".as_slice(), &[b'x'; 600], b"\n"].concat();
        assert_eq!(parse(&[&line, &line]), Err(TooLarge));
        let event = [line.as_slice(), b"\n"].concat();
        assert_eq!(parse(&[&event, &event, &event]).unwrap().len(), 3);
    }

    /// A parser that looks at an event again with every chunk would not be done today.
    #[test]
    fn a_large_event_in_small_chunks_takes_linear_time() {
        let event = [b"data: ".as_slice(), &vec![b'x'; 8 << 20], b"\n\n"].concat();
        let mut parser = SseParser::new(EVENT_LIMIT);
        let mut events = VecDeque::new();
        for chunk in event.chunks(37) {
            parser.push(chunk, &mut events).unwrap();
        }
        assert_eq!(events.pop_front().map(|event| event.data.len()), Some(8 << 20));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            words in proptest::collection::vec(
                proptest::sample::select(vec![
                    "data: ", "data", "event: e", ":", "\n", "\r\n", "\r", "é🦀", "x", "\u{feff}", "",
                ]),
                0..40,
            ),
            cuts in proptest::collection::vec(0usize..200, 0..20),
        ) {
            let bytes = words.concat().into_bytes();
            let whole = parse(&[&bytes]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at % (bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for at in cuts {
                chunks.push(&bytes[from..at]);
                from = at;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(parse(&chunks), whole.clone());
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(parse(&single), whole);
        }
    }
}
