//! The framing of a request's body (HTTP/1.1: length or chunks).
//!
//! Law: one request a connection. What comes after its body is not passed on, so no client can put a
//! second request behind the first.

/// A body, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Framing(BodyState);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyState {
    /// So many bytes are still to come.
    Bytes(u64),
    /// In the line that tells a chunk's length; digits so far.
    Size {
        size: u64,
        digits: u8,
    },
    /// In what follows the length on its line.
    Extension {
        size: u64,
        length: u16,
    },
    /// Its line ends; the newline is missing.
    SizeEnd {
        size: u64,
    },
    Chunk {
        left: u64,
    },
    /// After a chunk: carriage return, then newline.
    ChunkEnd {
        is_returned: bool,
    },
    /// The last chunk was empty; now fields may come, and an empty line.
    Trailer {
        line: u16,
        is_returned: bool,
        total: u16,
    },
    Done,
}

/// Not what was announced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

const LONGEST_EXTENSION: u16 = 1024;
const LONGEST_TRAILER: u16 = 8 * 1024;

impl Framing {
    pub(super) fn empty() -> Self {
        Self(BodyState::Done)
    }

    pub(super) fn of_length(bytes: u64) -> Self {
        Self(if bytes == 0 { BodyState::Done } else { BodyState::Bytes(bytes) })
    }

    pub(super) fn chunked() -> Self {
        Self(BodyState::Size { size: 0, digits: 0 })
    }

    pub(super) fn is_done(&self) -> bool {
        self.0 == BodyState::Done
    }

    /// Counts how many of these bytes belong to the body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && !self.is_done() {
            let (next, taken) = self.0.step(&bytes[at..])?;
            self.0 = next;
            at += taken;
        }
        Ok(at)
    }
}

impl BodyState {
    /// The next state, and how many bytes led there.
    fn step(self, bytes: &[u8]) -> Result<(Self, usize), Malformed> {
        let byte = bytes[0];
        let many = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let next = match (self, byte) {
            (Self::Bytes(left), _) => {
                let taken = many(left);
                let left = left - taken as u64;
                return Ok((if left == 0 { Self::Done } else { Self::Bytes(left) }, taken));
            }
            (Self::Chunk { left }, _) => {
                let taken = many(left);
                let left = left - taken as u64;
                let ended = Self::ChunkEnd { is_returned: false };
                return Ok((if left == 0 { ended } else { Self::Chunk { left } }, taken));
            }
            (Self::Size { size, digits }, byte) if byte.is_ascii_hexdigit() && digits < 15 => {
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                Self::Size { size: size * 16 + u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { size, digits: 1.. }, b'\r') => Self::SizeEnd { size },
            (Self::Size { size, digits: 1.. }, b';') => Self::Extension { size, length: 0 },
            (Self::Extension { size, .. }, b'\r') => Self::SizeEnd { size },
            (Self::Extension { size, length: length @ ..LONGEST_EXTENSION }, byte)
                if byte == b'\t' || !byte.is_ascii_control() =>
            {
                Self::Extension { size, length: length + 1 }
            }
            (Self::SizeEnd { size: 0 }, b'\n') => {
                Self::Trailer { line: 0, is_returned: false, total: 0 }
            }
            (Self::SizeEnd { size }, b'\n') => Self::Chunk { left: size },
            (Self::ChunkEnd { is_returned: false }, b'\r') => Self::ChunkEnd { is_returned: true },
            (Self::ChunkEnd { is_returned: true }, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::Trailer { line: 0, is_returned: true, .. }, b'\n') => Self::Done,
            (Self::Trailer { is_returned: true, total, .. }, b'\n') => {
                Self::Trailer { line: 0, is_returned: false, total }
            }
            (Self::Trailer { line, is_returned: false, total }, b'\r') => {
                Self::Trailer { line, is_returned: true, total }
            }
            (
                Self::Trailer { line, is_returned: false, total: total @ ..LONGEST_TRAILER },
                byte,
            ) if byte == b'\t' || !byte.is_ascii_control() => {
                Self::Trailer { line: line + 1, is_returned: false, total: total + 1 }
            }
            _ => return Err(Malformed),
        };
        Ok((next, 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counts how much of a stream is the body, cut into pieces of this size.
    fn taken(
        mut framing: Framing,
        stream: &[u8],
        piece: usize,
    ) -> Result<(usize, bool), Malformed> {
        let mut total = 0;
        for piece in stream.chunks(piece) {
            let count = framing.take(piece)?;
            total += count;
            if count < piece.len() {
                break;
            }
        }
        Ok((total, framing.is_done()))
    }

    #[test]
    fn a_body_ends_where_it_says() {
        let smuggled = b"GET http://evil/ HTTP/1.1\r\n\r\n";
        let bodies: &[(Framing, &[u8])] = &[
            (Framing::empty(), b""),
            (Framing::of_length(5), b"12345"),
            (Framing::chunked(), b"0\r\n\r\n"),
            (Framing::chunked(), b"5\r\n12345\r\n0\r\n\r\n"),
            (Framing::chunked(), b"a;name=\"v\"\r\n0123456789\r\n3\r\nabc\r\n000\r\nA: b\r\n\r\n"),
        ];
        for (framing, body) in bodies {
            let stream = [*body, smuggled].concat();
            for piece in 1..=stream.len() {
                let found = taken(framing.clone(), &stream, piece);
                assert_eq!(found, Ok((body.len(), true)), "{framing:?} by {piece}");
            }
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        let bodies: &[&[u8]] = &[
            b"\r\n",
            b"x\r\n",
            b" 5\r\n12345\r\n",
            b"5\n12345\r\n",
            b"5 \r\n12345\r\n",
            b"-1\r\n",
            b"0x5\r\n12345\r\n",
            b"5\r\n123456\r\n",
            b"5\r\n12345\n",
            b"1000000000000000\r\n",
            b"5;a\nb\r\n12345\r\n",
            b"0\r\nA: b\n\r\n",
        ];
        for body in bodies {
            assert_eq!(taken(Framing::chunked(), body, 64), Err(Malformed), "{body:?}");
        }
        let long = [b"5;".to_vec(), vec![b'x'; 2000]].concat();
        assert_eq!(taken(Framing::chunked(), &long, 64), Err(Malformed));
        let long = [b"0\r\n".to_vec(), vec![b'x'; 9000]].concat();
        assert_eq!(taken(Framing::chunked(), &long, 64), Err(Malformed));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(stream in prop::collection::vec(prop::sample::select(
            b"0123af\r\n;: ".to_vec()), 0..80)) {
            let whole = taken(Framing::chunked(), &stream, stream.len().max(1));
            for piece in 1..=stream.len() {
                prop_assert_eq!(&taken(Framing::chunked(), &stream, piece), &whole);
            }
        }
    }
}
