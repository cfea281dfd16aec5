//! The beginning of what goes through the proxy: a greeting of TLS that is for the host that was asked for, or one message.

use std::io::{ErrorKind, Result};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::client_hello::{self, Hello};
use super::framing::Framing;
use crate::outside::tcp::relay::{ConnectionEnds, read, write};
use jm_types::hosts::Host;

const BUFFER: usize = 16 * 1024;
/// After a refusal, for the client to read it.
const LINGER: Duration = Duration::from_secs(1);
const MOST_LINGERING: usize = 64 * 1024;

/// The reason why the beginning of a tunnel is not let through.
pub(super) enum TunnelFault {
    /// TLS for another host than was asked for.
    Name(String),
    /// TLS whose server name cannot be read.
    Unclear,
}

impl TunnelFault {
    /// The TLS alert for the client: fatal, and the reason.
    fn alert(&self) -> [u8; 7] {
        const DECODE_ERROR: u8 = 50;
        const UNRECOGNIZED_NAME: u8 = 112;
        let reason = match self {
            Self::Name(_) => UNRECOGNIZED_NAME,
            Self::Unclear => DECODE_ERROR,
        };
        [21, 3, 3, 0, 2, 2, reason]
    }
}

impl ConnectionEnds<'_> {
    /// Both directions, until both ends have said everything. `early` came with the request. What
    /// is not let through is told before anything ends.
    pub(super) fn tunnel(self, host: &Host, early: Vec<u8>, tell: impl FnOnce(TunnelFault) + Send) {
        self.both_ways(|| match self.hello(host, early) {
            Ok(early) => self.send_on(&early),
            Err(odd) => {
                let alert = odd.alert();
                tell(odd);
                say_last(self.client, &alert);
                self.hang_up();
            }
        });
    }

    /// One message to the server, and all that it answers.
    pub(super) fn exchange(self, head: &[u8], body: Framing, early: Vec<u8>) {
        self.both_ways(|| {
            if write(self.server, head).and_then(|()| self.send_body(body, early)).is_err() {
                self.hang_up();
            }
        });
    }

    /// Reads the first bytes of a tunnel to this host, if it may be one.
    fn hello(self, host: &Host, mut seen: Vec<u8>) -> std::result::Result<Vec<u8>, TunnelFault> {
        let mut buffer = [0; 4096];
        loop {
            match client_hello::read(&seen) {
                Hello::Unfinished => {}
                Hello::Unclear => return Err(TunnelFault::Unclear),
                Hello::Names(Some(name)) if name.parse::<Host>().as_ref() != Ok(host) => {
                    return Err(TunnelFault::Name(name));
                }
                Hello::Names(_) | Hello::Other => return Ok(seen),
            }
            match read(self.client, &mut buffer) {
                Ok(count) if count > 0 => seen.extend_from_slice(&buffer[..count]),
                _ => return Ok(seen),
            }
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
}

/// The last words to a client, and time to read them: closing with something unread would take them
/// back.
pub(super) fn say_last(client: &TcpStream, words: &[u8]) {
    let said = write(client, words).and_then(|()| client.shutdown(Shutdown::Write));
    if said.is_err() || client.set_read_timeout(Some(LINGER)).is_err() {
        return;
    }
    let until = Instant::now() + LINGER;
    let mut buffer = [0; 4096];
    let mut total = 0;
    while total < MOST_LINGERING && Instant::now() < until {
        match read(client, &mut buffer) {
            Ok(count) if count > 0 => total += count,
            _ => return,
        }
    }
}
