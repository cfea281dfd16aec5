//! A published port: what connects to it on this machine reaches the same port of a session's loopback.
//!
//! Law: it listens on 127.0.0.1 and nowhere else, TCP only. A connection that the process does not take is reset.

use std::io::Result;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use jm_types::ignore_error;
use rustix::net::sockopt::set_socket_linger;

use super::connections::{Connection, ConnectionServer};
use super::loopback_sockets::LoopbackSockets;
use super::relay::ConnectionEnds;

/// At one time; more wait. All ports of a job together stay below the descriptors that a process may have.
const MOST_CONNECTIONS: usize = 24;

/// A port that is open on this machine until this is dropped.
#[derive(Debug)]
pub(crate) struct PublishedPort(
    #[expect(dead_code, reason = "dropped, it closes the port")] ConnectionServer,
);

impl PublishedPort {
    /// Opens the port; an error of the kind `AddrInUse` where something else has it.
    pub(crate) fn open(port: u16, sockets: Arc<LoopbackSockets>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let serve =
            move |connection: &Connection, client: &Arc<TcpStream>| match sockets.connect(port) {
                Ok(server) => {
                    let server = Arc::new(server);
                    // What goes through is sent on as it comes: no end knows of the other's packets.
                    ignore_error(client.set_nodelay(true), "slower, and no less right");
                    ignore_error(server.set_nodelay(true), "slower, and no less right");
                    if connection.remember(&server) {
                        ConnectionEnds { client, server: &server }.join();
                    }
                }
                Err(_) => reset(client),
            };
        ConnectionServer::start("published port", MOST_CONNECTIONS, |_| Some(listener), serve)
            .map(Self)
    }
}

/// Closing it now tells the client that nobody took the connection, as a refusal would.
fn reset(client: &TcpStream) {
    let at_once = set_socket_linger(client, Some(Duration::ZERO));
    ignore_error(at_once, "closed without this, the connection ends all the same");
}
