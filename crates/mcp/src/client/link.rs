//! The pipe from a server, guarded: lines and floods are bounded before anything is parsed.
//!
//! Law: a line that is too long, or more bytes than were asked for, end the connection with a reason. A
//! line that was dropped in silence would leave its call without an answer.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest line of JSON that a server may send.
pub(crate) const MOST_LINE: usize = 16 * 1024 * 1024;
/// The bytes that a server may send for one request, and at its start.
const ALLOWANCE: u64 = 64 * 1024 * 1024;

/// The state of a link that both its reader and its user look at.
#[derive(Debug, Default)]
pub(crate) struct LinkWatch {
    was_heard: AtomicBool,
    left: AtomicU64,
    fault: Mutex<Option<String>>,
}

impl LinkWatch {
    pub(crate) fn new() -> Arc<Self> {
        let watch = Self::default();
        watch.allow_answer();
        Arc::new(watch)
    }

    /// Tells if the server has sent anything at all.
    pub(crate) fn was_heard(&self) -> bool {
        self.was_heard.load(Ordering::Acquire)
    }

    /// A request was made, so bytes may come.
    pub(crate) fn allow_answer(&self) {
        self.left.store(ALLOWANCE, Ordering::Release);
    }

    /// The reason why we ended the link, if we did.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn spend(&self, bytes: u64) -> Result<(), String> {
        self.was_heard.store(true, Ordering::Release);
        let spend = |left: u64| left.checked_sub(bytes);
        match self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, spend) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("it sent more than {ALLOWANCE} bytes of unrequested data")),
        }
    }

    /// Ends the link for a reason.
    pub(crate) fn end(&self, why: String) -> std::io::Error {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        std::io::Error::other(why)
    }
}

/// A reader that counts.
#[derive(Debug)]
pub(crate) struct GuardedReader<R> {
    inner: R,
    watch: Arc<LinkWatch>,
    line: usize,
}

impl<R> GuardedReader<R> {
    pub(crate) fn new(inner: R, watch: Arc<LinkWatch>) -> Self {
        Self { inner, watch, line: 0 }
    }

    fn count(&mut self, bytes: &[u8]) -> Result<(), String> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line += part.len();
            if self.line > MOST_LINE {
                return Err(format!("it sent a line of more than {MOST_LINE} bytes"));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
        self.watch.spend(bytes.len() as u64)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for GuardedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.inner).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        let counted = self.count(&buffer.filled()[before..]);
        Poll::Ready(counted.map_err(|why| self.watch.end(why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader() -> GuardedReader<&'static [u8]> {
        GuardedReader::new(b"", LinkWatch::new())
    }

    #[test]
    fn a_line_is_counted_across_reads() {
        let mut reader = reader();
        let half = vec![b'x'; MOST_LINE / 2];
        assert_eq!(reader.count(&half), Ok(()));
        assert_eq!(reader.count(b"\n"), Ok(()));
        assert_eq!(reader.count(&half), Ok(()));
        assert_eq!(reader.count(&half), Ok(()));
        assert!(reader.count(b"x").is_err());
    }

    #[test]
    fn short_lines_without_end_are_a_flood_until_somebody_asks() {
        let mut reader = reader();
        let lines = b"{}\n".repeat(1024 * 1024);
        let mut sent = 0;
        while reader.count(&lines).is_ok() {
            sent += lines.len() as u64;
        }
        assert!(sent <= ALLOWANCE && sent > ALLOWANCE - lines.len() as u64);
        reader.watch.allow_answer();
        assert_eq!(reader.count(&lines), Ok(()));
    }
}
