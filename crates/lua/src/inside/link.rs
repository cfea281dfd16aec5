//! The child's end of the socket.
//!
//! Law: the interpreter has one thread, which reads and writes. Another one only waits for the program to
//! be gone, and then ends the process, whatever a script is doing.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use crate::frame::{FrameReader, encode};
use crate::protocol::{Ask, FromChild, MessageId, ToChild};

#[derive(Debug)]
pub(super) struct Link {
    stream: UnixStream,
    reader: FrameReader,
    inbox: VecDeque<ToChild>,
    last_id: MessageId,
}

/// The socket, for all natives and the loop.
pub(super) type SharedLink = Rc<RefCell<Link>>;

impl Link {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream, reader: FrameReader::default(), inbox: VecDeque::new(), last_id: 0 }
    }

    pub(super) fn fresh_id(&mut self) -> MessageId {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn send(&mut self, message: &FromChild) -> Result<()> {
        self.stream.write_all(&encode(message)?)
    }

    /// The next message; `None` when none came in that time.
    pub(super) fn next(&mut self, most: Option<Duration>) -> Result<Option<ToChild>> {
        if let Some(message) = self.inbox.pop_front() {
            return Ok(Some(message));
        }
        self.hear(most)?;
        Ok(self.inbox.pop_front())
    }

    /// Takes in what was sent, and waits for it as long as told.
    pub(super) fn hear(&mut self, most: Option<Duration>) -> Result<()> {
        if most.is_some_and(|most| !is_readable(&self.stream, most)) {
            return Ok(());
        }
        let mut bytes = [0; 64 * 1024];
        let count = match self.stream.read(&mut bytes) {
            Ok(0) => return Err(Error::from(ErrorKind::UnexpectedEof)),
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            read => read?,
        };
        self.reader.push(&bytes[..count]);
        while let Some(message) = self.reader.take()? {
            self.inbox.push_back(message);
        }
        Ok(())
    }

    /// True if the program has asked to stop that call.
    pub(super) fn is_cancelled(&self, call: MessageId) -> bool {
        self.inbox.iter().any(|message| matches!(message, ToChild::Cancel { id } if *id == call))
    }

    /// Asks the program, and waits for its answer. What else comes meanwhile is kept.
    pub(super) fn ask(&mut self, ask: Ask) -> Result<std::result::Result<Value, String>> {
        let asked = self.fresh_id();
        self.send(&FromChild::Ask { id: asked, ask })?;
        let is_answer =
            |message: &ToChild| matches!(message, ToChild::Answer { id, .. } if *id == asked);
        loop {
            let place = self.inbox.iter().position(is_answer);
            if let Some(ToChild::Answer { answer, .. }) = place.and_then(|at| self.inbox.remove(at))
            {
                return Ok(answer);
            }
            self.hear(None)?;
        }
    }
}

fn is_readable(stream: &UnixStream, most: Duration) -> bool {
    let timeout = Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    let mut fds = [PollFd::new(stream, PollFlags::IN)];
    poll(&mut fds, Some(&timeout)).is_ok_and(|count| count > 0)
}

/// Ends this process when the program has closed its end, also while a script runs.
pub(super) fn end_with_program(stream: &UnixStream) -> Result<()> {
    let stream = stream.try_clone()?;
    std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
        loop {
            let mut fds = [PollFd::new(&stream, PollFlags::RDHUP)];
            let ended = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
            if poll(&mut fds, None).is_ok() && fds[0].revents().intersects(ended) {
                std::process::exit(0);
            }
        }
    })?;
    Ok(())
}
