//! The head of a request to the proxy.
//!
//! Law: what can be read in two ways is refused, because the server behind the proxy might read it in
//! the other one.

use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;
use std::time::Instant;

use super::framing::Framing;
use jm_types::hosts::{Host, parse_port, split_port};

const MOST_BYTES: usize = 32 * 1024;
const MOST_FIELDS: usize = 128;

/// The target of a request, and its purpose.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: Host,
    pub(super) port: u16,
    /// The credentials that prove it to be the command's.
    pub(super) credentials: Option<String>,
    pub(super) wish: RequestPurpose,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    /// `CONNECT`: bytes both ways.
    Tunnel,
    /// A message for the server, its head as the server shall see it.
    Forward { head: Vec<u8>, body: Framing },
}

/// A request that is not served: the answer's code and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedRequest {
    pub(super) code: u16,
    pub(super) why: String,
}

fn bad(why: &str) -> RefusedRequest {
    RefusedRequest { code: 400, why: why.to_owned() }
}

/// A head up to its empty line, and what came along behind it.
pub(super) struct RequestHead {
    pub(super) head: Vec<u8>,
    pub(super) early: Vec<u8>,
}

/// Reads up to the empty line. `None` if the client has nothing to say.
pub(super) fn read_head(
    mut client: &TcpStream,
    until: Instant,
) -> Result<Option<RequestHead>, RefusedRequest> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = find(&read, b"\r\n\r\n") {
            let early = read.split_off(end + 4);
            return Ok(Some(RequestHead { head: read, early }));
        }
        if read.len() > MOST_BYTES {
            return Err(RefusedRequest {
                code: 431,
                why: "the head of the request is too long".into(),
            });
        }
        let left = until.saturating_duration_since(Instant::now());
        let too_late =
            RefusedRequest { code: 408, why: "the request did not come in time".to_owned() };
        if left.is_zero() || client.set_read_timeout(Some(left)).is_err() {
            return Err(too_late);
        }
        match client.read(&mut buffer) {
            Ok(0) if read.is_empty() => return Ok(None),
            Ok(0) => return Err(bad("the request ends in its head")),
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(too_late);
            }
            Err(_) => return Ok(None),
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, wanted)
}

/// Understands a head that ends with its empty line.
pub(super) fn parse(head: &[u8]) -> Result<ProxyRequest, RefusedRequest> {
    let text = std::str::from_utf8(head).map_err(|_| bad("the head is no text"))?;
    let text = text.strip_suffix("\r\n\r\n").ok_or_else(|| bad("the head has no end"))?;
    let odd = |c: char| c != '\t' && c.is_control();
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let fields: Vec<(&str, &str)> = lines.map(field).collect::<Result<_, _>>()?;
    if fields.len() > MOST_FIELDS {
        return Err(RefusedRequest { code: 431, why: "the head has too many fields".to_owned() });
    }
    if first.contains(odd) || fields.iter().any(|(_, value)| value.contains(odd)) {
        return Err(bad("the head has control characters"));
    }
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad("the first line is not method, target and version"));
    };
    if !is_token(method) || !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !target.is_ascii() {
        return Err(bad("the first line is not that of HTTP/1"));
    }
    let credentials = one(&fields, "proxy-authorization")?.map(str::to_owned);
    if method == "CONNECT" {
        let (host, port) = authority(target)?;
        let port = port.ok_or_else(|| bad("CONNECT names no port"))?;
        return Ok(ProxyRequest { host, port, credentials, wish: RequestPurpose::Tunnel });
    }
    let (place, path) = absolute(target)?;
    let (host, port) = authority(place)?;
    let body = framing(&fields, version)?;
    let head = rewritten(&[method, &path, version], place, &fields);
    let port = port.unwrap_or(80);
    Ok(ProxyRequest { host, port, credentials, wish: RequestPurpose::Forward { head, body } })
}

fn field(line: &str) -> Result<(&str, &str), RefusedRequest> {
    let (name, value) = line.split_once(':').ok_or_else(|| bad("a field has no name"))?;
    // Blanks before the colon, or a line that goes on: read in two ways by different programs.
    if is_token(name) {
        Ok((name, value.trim_matches([' ', '\t'])))
    } else {
        Err(bad("a field's name is no name"))
    }
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// The value of a field that may stand there once.
fn one<'a>(fields: &[(&str, &'a str)], name: &str) -> Result<Option<&'a str>, RefusedRequest> {
    let mut found = fields.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(bad(&format!("{name} stands there twice"))),
        (first, _) => Ok(first.map(|(_, value)| *value)),
    }
}

fn authority(text: &str) -> Result<(Host, Option<u16>), RefusedRequest> {
    let (host, port) = split_port(text).ok_or_else(|| bad("the target names no host"))?;
    let port = port.map(|port| parse_port(port).ok_or_else(|| bad("the port is no port")));
    Ok((host.parse().map_err(bad)?, port.transpose()?))
}

/// `http://host:port/path` as place and path.
fn absolute(target: &str) -> Result<(&str, String), RefusedRequest> {
    let (scheme, rest) = target
        .split_once("://")
        .ok_or_else(|| bad("this is a proxy: give the whole address, or use CONNECT"))?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(bad("only http:// is asked for this way; use CONNECT for all else"));
    }
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    match path.chars().next() {
        None => Ok((place, "/".to_owned())),
        Some('/') if !path.contains('#') => Ok((place, path.to_owned())),
        Some('?') if !path.contains('#') => Ok((place, format!("/{path}"))),
        Some(_) => Err(bad("the target is no address")),
    }
}

fn framing(fields: &[(&str, &str)], version: &str) -> Result<Framing, RefusedRequest> {
    let length = one(fields, "content-length")?;
    let coding = one(fields, "transfer-encoding")?;
    match (length, coding) {
        (None, None) => Ok(Framing::empty()),
        (Some(_), Some(_)) => Err(bad("the body has two lengths")),
        (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") && version == "HTTP/1.1" => {
            Ok(Framing::chunked())
        }
        (None, Some(_)) => Err(bad("the body's coding is not known")),
        (Some(length), None) => {
            let is_plain = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            let length = length.parse().ok().filter(|_| is_plain);
            length.map(Framing::of_length).ok_or_else(|| bad("the body's length is no number"))
        }
    }
}

/// Hop-by-hop fields: of the connection and not of the message, besides what `Connection` itself names.
const OF_THE_CONNECTION: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// The head for the server: its own path, the host that was judged, and one message only.
fn rewritten(first: &[&str; 3], place: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let named: Vec<String> = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(',').map(|word| word.trim().to_ascii_lowercase()))
        .collect();
    // Who may say how long the body is was settled before.
    let goes = |name: &str| {
        let name = name.to_ascii_lowercase();
        let is_length = matches!(name.as_str(), "content-length" | "transfer-encoding");
        is_length || !(OF_THE_CONNECTION.contains(&name.as_str()) || named.contains(&name))
    };
    let mut head = format!("{}\r\nHost: {place}\r\n", first.join(" "));
    for (name, value) in fields.iter().filter(|(name, _)| goes(name)) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Connection: close\r\n\r\n");
    head.into_bytes()
}

#[cfg(test)]
mod tests;
