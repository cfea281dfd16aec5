//! Bytes between a client and a server.
//!
//! Law: an end that says no more is told to the other end, which may still answer. A buffer for
//! each direction is all the memory a connection takes, however much goes through it.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};

use super::framing::Framing;
use super::hello::{self, Hello};
use crate::confine::Host;

const BUFFER: usize = 16 * 1024;

/// Both ends of a connection that was admitted.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) client: &'a TcpStream,
    pub(super) server: &'a TcpStream,
}

impl Ends<'_> {
    /// Both directions, until both ends have said everything. `early` came with the request. A name
    /// that was not asked for is told before anything ends.
    pub(super) fn tunnel(self, host: &Host, early: Vec<u8>, tell: impl FnOnce(&str) + Send) {
        both_ways(self, || {
            let (early, name) = self.hello(early);
            match name.filter(|name| name.parse::<Host>().as_ref() != Ok(host)) {
                None => self.send_on(&early),
                Some(other) => {
                    tell(&other);
                    self.hang_up();
                }
            }
        });
    }

    /// One message to the server, and all that it answers.
    pub(super) fn exchange(self, head: &[u8], body: Framing, early: Vec<u8>) {
        both_ways(self, || {
            if write(self.server, head).and_then(|()| self.send_body(body, early)).is_err() {
                self.hang_up();
            }
        });
    }

    /// What a tunnel begins with, and the name in it.
    fn hello(self, mut seen: Vec<u8>) -> (Vec<u8>, Option<String>) {
        let mut buffer = [0; 4096];
        loop {
            match hello::read(&seen) {
                Hello::Unfinished if seen.len() <= hello::LONGEST => {}
                Hello::Unfinished | Hello::Other => return (seen, None),
                Hello::Names(name) => return (seen, name),
            }
            match read(self.client, &mut buffer) {
                Ok(count) if count > 0 => seen.extend_from_slice(&buffer[..count]),
                _ => return (seen, None),
            }
        }
    }

    fn send_on(self, early: &[u8]) {
        let sent = write(self.server, early).and_then(|()| copy(self.client, self.server));
        match sent {
            Ok(()) => close(self.server),
            Err(_) => self.hang_up(),
        }
    }

    /// The body and nothing behind it.
    fn send_body(self, mut body: Framing, early: Vec<u8>) -> Result<()> {
        let mut buffer = [0; BUFFER];
        let mut piece = early;
        loop {
            let count = body.take(&piece).map_err(|_| ErrorKind::InvalidData)?;
            write(self.server, &piece[..count])?;
            if body.is_done() {
                return Ok(());
            }
            match read(self.client, &mut buffer)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => piece = buffer[..count].to_vec(),
            }
        }
    }

    fn hang_up(self) {
        for end in [self.client, self.server] {
            // It may be closed already, which is what we want.
            end.shutdown(Shutdown::Both).unwrap_or_default();
        }
    }
}

/// The answers on this thread, what is asked on another.
fn both_ways(ends: Ends<'_>, ask: impl FnOnce()) {
    std::thread::scope(|scope| {
        let answers = scope.spawn(move || match copy(ends.server, ends.client) {
            Ok(()) => close(ends.client),
            Err(_) => ends.hang_up(),
        });
        ask();
        // Joined, a panic over there is not passed on: this connection is over either way.
        answers.join().unwrap_or_default();
    })
}

fn close(end: &TcpStream) {
    end.shutdown(Shutdown::Write).unwrap_or_default();
}

fn copy(from: &TcpStream, to: &TcpStream) -> Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        match read(from, &mut buffer)? {
            0 => return Ok(()),
            count => write(to, &buffer[..count])?,
        }
    }
}

fn read(mut from: &TcpStream, buffer: &mut [u8]) -> Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn write(mut to: &TcpStream, bytes: &[u8]) -> Result<()> {
    to.write_all(bytes)
}
