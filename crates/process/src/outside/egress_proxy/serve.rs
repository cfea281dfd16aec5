//! One connection to the proxy, from its request to its end.

use std::io::{Result, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ProxyConnection;
use super::address::may_connect;
use super::request::{ProxyRequest, RefusedRequest, RequestHead, RequestPurpose, parse, read_head};
use super::tunnel::{TunnelFault, say_last};
use crate::outside::refusal::Refusal;
use crate::outside::tcp::relay::ConnectionEnds;
use jm_types::HostVerdict;
use jm_types::hosts::{Host, HostRule};

impl ProxyConnection<'_> {
    pub(super) fn serve(&self, client: &Arc<TcpStream>) {
        let until = Instant::now() + self.shared.patience;
        let RequestHead { head, early } = match read_head(client, until) {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(refused) => return answer(client, &refused),
        };
        match parse(&head).and_then(|request| Ok((self.connect(&request)?, request))) {
            Ok((server, request)) => self.relay(client, &server, request, early),
            Err(refused) => answer(client, &refused),
        }
    }

    /// A connection to where the request wants to go, if it may.
    fn connect(
        &self,
        request: &ProxyRequest,
    ) -> std::result::Result<Arc<TcpStream>, RefusedRequest> {
        let shared = self.shared;
        if shared.pass.is_some() && request.credentials != shared.pass {
            return Err(RefusedRequest {
                code: 407,
                why: "this proxy belongs to a command".to_owned(),
            });
        }
        let (host, port) = (&request.host, request.port);
        let Some(rule) = shared.list.admits(host, port) else {
            return Err(self.refuse(host, port));
        };
        let found = match host {
            Host::Address(address) => Ok(vec![SocketAddr::new(*address, port)]),
            Host::Name(name) => (shared.resolve)(name, port),
        };
        let found = found.map_err(|error| RefusedRequest {
            code: 502,
            why: format!("{host} cannot be resolved: {error}"),
        })?;
        let allowed = |found: &&SocketAddr| may_connect(&shared.list, rule, found.ip(), port);
        let open: Vec<SocketAddr> = found.iter().filter(allowed).copied().collect();
        if let (true, Some(first)) = (open.is_empty(), found.first()) {
            return Err(self.refuse_address(host, first.ip(), port));
        }
        let server = connect_to_any(&open, shared.patience).map_err(|error| RefusedRequest {
            code: 502,
            why: format!("{host}:{port} cannot be reached: {error}"),
        })?;
        let server = Arc::new(server);
        if self.connection.remember(&server) {
            Ok(server)
        } else {
            Err(RefusedRequest { code: 503, why: "the command has ended".to_owned() })
        }
    }

    fn refuse(&self, host: &Host, port: u16) -> RefusedRequest {
        let wanted = HostRule::for_target(host, port);
        let verdict = self.shared.list.exception(host, port);
        let why = match verdict {
            None => format!("it is not listed; allow it with `--network={wanted}`"),
            Some(HostVerdict::Asked) => "a rule asks about it".to_owned(),
            Some(HostVerdict::Denied) => "a rule denies it".to_owned(),
        };
        self.shared.note_refused(Refusal::of_host(wanted, verdict));
        RefusedRequest { code: 403, why: format!("{host}:{port} is refused: {why}") }
    }

    /// Refuses an address that an admitted name was resolved to.
    fn refuse_address(&self, host: &Host, address: IpAddr, port: u16) -> RefusedRequest {
        let address = Host::Address(address.to_canonical());
        let verdict = self.shared.list.exception(&address, port);
        if verdict.is_some() {
            let RefusedRequest { code, why } = self.refuse(&address, port);
            return RefusedRequest { code, why: format!("{host} is {address}; {why}") };
        }
        let wanted = HostRule::for_target(&address, port);
        let why = format!(
            "{address}:{port} is refused: {host} is {address}, which is not a public address; allow it with `--network={wanted}`"
        );
        self.shared.note_refused(Refusal::Host(wanted));
        RefusedRequest { code: 403, why }
    }

    fn relay(&self, client: &TcpStream, server: &TcpStream, request: ProxyRequest, early: Vec<u8>) {
        // A tunnel may be silent as long as the command lives.
        if client.set_read_timeout(None).is_err() {
            return;
        }
        let ends = ConnectionEnds { client, server };
        match request.wish {
            RequestPurpose::Forward { head, body } => ends.exchange(&head, body, early),
            RequestPurpose::Tunnel => {
                if say(client, "HTTP/1.1 200 Connection established\r\n\r\n").is_err() {
                    return;
                }
                ends.tunnel(&request.host, early, |odd| {
                    self.shared.note_refused(match odd {
                        TunnelFault::Unclear => Refusal::Greeting(request.host.clone()),
                        // A name that is no name has no rule that would allow it.
                        TunnelFault::Name(name) => match name.parse() {
                            Ok(host) => {
                                let verdict = self.shared.list.exception(&host, request.port);
                                let wanted = HostRule::for_target(&host, request.port);
                                Refusal::of_host(wanted, verdict)
                            }
                            Err(_) => Refusal::Greeting(request.host.clone()),
                        },
                    });
                });
            }
        }
    }
}

fn connect_to_any(addresses: &[SocketAddr], patience: Duration) -> Result<TcpStream> {
    let mut failed = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect_timeout(address, patience) {
            Ok(server) => return Ok(server),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn say(mut to: &TcpStream, text: &str) -> Result<()> {
    to.write_all(text.as_bytes())
}

/// Says why not.
fn answer(client: &TcpStream, refused: &RefusedRequest) {
    let phrase = match refused.code {
        400 => "Bad Request",
        403 => "Forbidden",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        502 => "Bad Gateway",
        _ => "Service Unavailable",
    };
    let body = format!("jm: {}\n", refused.why);
    let ask = match refused.code {
        407 => "Proxy-Authenticate: Basic realm=\"jm\"\r\n",
        _ => "",
    };
    let text = format!(
        "HTTP/1.1 {} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         {ask}Connection: close\r\n\r\n{body}",
        refused.code,
        body.len(),
    );
    say_last(client, text.as_bytes());
}
