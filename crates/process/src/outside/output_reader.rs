//! One output stream of a command: from the pipe to memory and to whoever listens.
//!
//! Law: memory is bounded. When the listener is full, chunks are joined; when the joined chunk is
//! full too, the pipe is not read, so the command waits. No byte that was read is dropped before
//! the listener has it.

use jm_types::ignore_error;
use jm_types::text::Settler;
use jm_types::text::truncate::HeadTail;
use jm_types::text::utf8::Utf8Stream;
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};

const CHUNK: usize = 64 * 1024;
/// A larger pipe lets a command that prints much go on while we work on what it printed.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// One of a command's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandStream {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
}

/// A listener's answer to a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkAnswer {
    /// The listener has it.
    Taken,
    /// No room now; the chunk is offered again, longer.
    Full,
    /// The listener is gone.
    Gone,
}

/// The form in which a stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputView {
    /// Every byte as it came.
    #[default]
    Exact,
    /// Lines as a terminal would show them at their end, unless it is no text of bytes.
    Settled,
}

/// Hears output as it comes. `hear` must not block; `hear_last` may wait for room.
pub trait OutputListener {
    /// Offers a chunk of whole characters.
    fn hear(&mut self, stream: CommandStream, chunk: &str) -> ChunkAnswer;
    /// Offers the last chunk of a stream.
    fn hear_last(&mut self, stream: CommandStream, chunk: &str);
    /// The command's first process, which leads a session of its own.
    fn started(&mut self, _: u32) {}
    /// The form of each stream in the result.
    fn view(&self) -> OutputView {
        OutputView::Exact
    }

    /// Every byte, exactly as it came.
    fn keep(&mut self, _: CommandStream, _: &[u8]) {}
}

/// For callers that only want the result.
#[derive(Debug, Default)]
pub struct NoListener;

impl OutputListener for NoListener {
    fn hear(&mut self, _: CommandStream, _: &str) -> ChunkAnswer {
        ChunkAnswer::Gone
    }

    fn hear_last(&mut self, _: CommandStream, _: &str) {}
}

pub(crate) struct OutputReader {
    stream: CommandStream,
    pipe: Option<OwnedFd>,
    kept: HeadTail,
    /// Set where lines are drawn over.
    settler: Option<Settler>,
    /// Bytes read so far.
    read: u64,
    decoder: Utf8Stream,
    held: String,
    /// Without a listener nothing is decoded.
    is_heard: bool,
    buffer: Vec<u8>,
}

impl OutputReader {
    pub(crate) fn new(
        stream: CommandStream,
        pipe: Option<OwnedFd>,
        keep: usize,
        view: OutputView,
    ) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
            #[cfg(target_os = "linux")]
            ignore_error(
                rustix::pipe::fcntl_setpipe_size(pipe, PIPE),
                "a user who has too many large pipes gets the usual size",
            );
        }
        Ok(Self {
            stream,
            pipe,
            kept: HeadTail::new(keep),
            settler: (view == OutputView::Settled).then(Settler::default),
            read: 0,
            decoder: Utf8Stream::default(),
            held: String::new(),
            is_heard: true,
            buffer: vec![0; CHUNK],
        })
    }

    /// The pipe, while there is room for what it holds.
    pub(crate) fn wanted(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref().filter(|_| self.held.len() < CHUNK)
    }

    /// Bytes read so far.
    pub(crate) fn total(&self) -> u64 {
        self.read
    }

    fn take(&mut self, count: usize) {
        let bytes = &self.buffer[..count];
        if self.read == 0 && !is_text_of_bytes(bytes) {
            self.settler = None;
        }
        self.read += count as u64;
        match &mut self.settler {
            Some(settler) => settler.push(bytes, |bytes| self.kept.push(bytes)),
            None => self.kept.push(bytes),
        }
    }

    /// Nothing is drawn over any more. Whether something that was printed is not in what is kept.
    pub(crate) fn settle(&mut self) -> bool {
        let Some(settler) = &mut self.settler else { return false };
        settler.finish(|bytes| self.kept.push(bytes));
        settler.is_redrawn()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    pub(crate) fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Reads what is there, a bounded number of times so that the other stream gets its turn.
    pub(crate) fn read_available(&mut self, listener: &mut dyn OutputListener) {
        for _ in 0..16 {
            self.offer(listener);
            if self.held.len() >= CHUNK {
                return;
            }
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut self.buffer[..]) {
                Ok(0) => {
                    self.pipe = None;
                    let rest = self.decoder.finish();
                    self.held.push_str(&rest);
                }
                Ok(count) => {
                    self.take(count);
                    listener.keep(self.stream, &self.buffer[..count]);
                    if self.is_heard {
                        let text = self.decoder.push(&self.buffer[..count]);
                        self.held.push_str(&text);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        self.offer(listener);
    }

    fn offer(&mut self, listener: &mut dyn OutputListener) {
        if self.held.is_empty() {
            return;
        }
        match listener.hear(self.stream, &self.held) {
            ChunkAnswer::Taken => self.held.clear(),
            ChunkAnswer::Gone => {
                self.is_heard = false;
                self.held.clear();
            }
            ChunkAnswer::Full => {}
        }
    }

    pub(crate) fn close(mut self, listener: &mut dyn OutputListener) -> HeadTail {
        let rest = self.decoder.finish();
        self.held.push_str(&rest);
        if !self.held.is_empty() {
            listener.hear_last(self.stream, &self.held);
        }
        self.kept
    }
}

/// Tells whether a return is one byte there: neither binary nor UTF-16, as far as the first bytes tell.
fn is_text_of_bytes(first: &[u8]) -> bool {
    const SNIFF: usize = 8 * 1024;
    let has_wide_mark = first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff");
    !has_wide_mark && memchr::memchr(0, &first[..first.len().min(SNIFF)]).is_none()
}
