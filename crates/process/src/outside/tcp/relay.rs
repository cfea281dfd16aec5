//! Bytes between a client and a server.
//!
//! Law: an end that says no more is told to the other end, which may still answer. A buffer for
//! each direction is all the memory a connection takes, however much goes through it.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};

use jm_types::ignore_error;

const BUFFER: usize = 16 * 1024;

/// Both ends of a connection that was admitted.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionEnds<'a> {
    pub(crate) client: &'a TcpStream,
    pub(crate) server: &'a TcpStream,
}

impl ConnectionEnds<'_> {
    /// Both directions, until both ends have said everything.
    pub(crate) fn join(self) {
        self.both_ways(|| self.send_on(&[]));
    }

    /// The answers on a thread of their own, what is asked on this one.
    pub(crate) fn both_ways(self, ask: impl FnOnce()) {
        std::thread::scope(|scope| {
            let answer = move || match copy(self.server, self.client) {
                Ok(()) => close(self.client),
                Err(_) => self.hang_up(),
            };
            match std::thread::Builder::new().spawn_scoped(scope, answer) {
                Ok(answers) => {
                    ask();
                    ignore_error(
                        answers.join(),
                        "joined, a panic over there is not passed on: this connection is over either way",
                    );
                }
                Err(_) => self.hang_up(),
            }
        })
    }

    /// Sends what was read already, and then all that the client says.
    pub(crate) fn send_on(self, early: &[u8]) {
        let sent = write(self.server, early).and_then(|()| copy(self.client, self.server));
        match sent {
            Ok(()) => close(self.server),
            Err(_) => self.hang_up(),
        }
    }

    pub(crate) fn hang_up(self) {
        for end in [self.client, self.server] {
            ignore_error(
                end.shutdown(Shutdown::Both),
                "it may be closed already, which is what we want",
            );
        }
    }
}

fn close(end: &TcpStream) {
    ignore_error(end.shutdown(Shutdown::Write), "one that is closed already is what we want");
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

pub(crate) fn read(mut from: &TcpStream, buffer: &mut [u8]) -> Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

pub(crate) fn write(mut to: &TcpStream, bytes: &[u8]) -> Result<()> {
    to.write_all(bytes)
}
