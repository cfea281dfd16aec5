//! The egress proxy between clients and servers of this test, all on this machine.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::mpsc;
use std::time::Instant;

use super::client_hello::tests::greeting;
use super::*;
use crate::contract::descriptors::send_descriptor;
use jm_types::ignore_error;

/// A hang detector.
const PATIENCE: Duration = Duration::from_secs(20);

/// Names of this test; what a name of somebody else's may turn out to be.
fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let address = match host {
        "localhost" | "rebound.example" | "a.wild.example" => "127.0.0.1",
        "metadata.example" => "169.254.169.254",
        "private.example" => "10.255.255.1",
        _ => return Err(ErrorKind::NotFound.into()),
    };
    Ok(vec![SocketAddr::new(address.parse().unwrap(), port)])
}

struct World {
    proxy: EgressProxy,
    /// The address of the proxy.
    at: SocketAddr,
    server: TcpListener,
}

impl World {
    /// `PORT` in a rule stands for the server's.
    fn new(rules: &[&str], pass: Option<&str>, patience: Duration) -> Self {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = server.local_addr().unwrap().port().to_string();
        let rules = rules.iter().map(|rule| rule.replace("PORT", &port).parse().unwrap());
        let list = HostList::new(rules.collect()).unwrap();
        let (proxy, sender) = EgressProxy::with(list, pass, resolve, patience).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        send_descriptor(&sender, &listener).unwrap();
        Self { proxy, at, server }
    }

    fn of(rules: &[&str]) -> Self {
        Self::new(rules, None, Duration::from_secs(5))
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.at).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
    }

    fn said(&self, text: &str) -> String {
        text.replace("PORT", &self.server.local_addr().unwrap().port().to_string())
    }

    /// Sends this and reads all that comes back.
    fn ask(&self, request: &str) -> String {
        let mut client = self.connect();
        client.write_all(self.said(request).as_bytes()).unwrap();
        everything(&mut client)
    }

    /// A server that answers one connection with this, and tells what it heard.
    fn answering(&self, answer: &'static str) -> mpsc::Receiver<String> {
        let server = self.server.try_clone().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let heard = everything(&mut client);
            client.write_all(answer.as_bytes()).unwrap();
            drop(client);
            tell.send(heard).unwrap();
        });
        told
    }

    fn heard_nothing(&self) -> bool {
        self.server.set_nonblocking(true).unwrap();
        self.server.accept().is_err()
    }
}

/// Until the end, or until nothing comes any more.
fn everything(from: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count) = from.read(&mut buffer)
        && count > 0
    {
        all.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn what_is_listed_is_reached_and_nothing_is_smuggled_behind_it() {
    let world = World::of(&["localhost:PORT"]);
    let told = world.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    let answer = world.ask(
        "POST http://localhost:PORT/a HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 3\r\n\r\n\
         abcGET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    );
    assert!(answer.ends_with("\r\n\r\nhi"), "{answer}");
    let heard = told.recv_timeout(PATIENCE).unwrap();
    let expected = world.said(
        "POST /a HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    );
    assert_eq!(heard, expected);
    assert!(world.proxy.refusals().all().is_empty());
}

#[test]
fn a_tunnel_carries_both_ways_and_half_an_end_is_no_end() {
    let world = World::of(&["localhost:PORT"]);
    let told = world.answering("an answer after the end of the question");
    let mut client = world.connect();
    let request = "CONNECT localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n\r\nearly ";
    client.write_all(world.said(request).as_bytes()).unwrap();
    client.write_all(b"late").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let answer = everything(&mut client);
    assert_eq!(
        answer,
        "HTTP/1.1 200 Connection established\r\n\r\nan answer after the end of the question"
    );
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "early late");
}

#[test]
fn what_is_not_listed_is_refused_and_remembered() {
    let world = World::of(&["localhost:PORT", "*.wild.example:PORT", "rebound.example:PORT"]);
    let cases = [
        ("GET http://example.org/ HTTP/1.1\r\n\r\n", "example.org"),
        ("CONNECT example.org:8443 HTTP/1.1\r\n\r\n", "example.org:8443"),
        ("CONNECT localhost:1 HTTP/1.1\r\n\r\n", "localhost:1"),
        ("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n", "127.0.0.1:PORT"),
        ("CONNECT [::1]:PORT HTTP/1.1\r\n\r\n", "[::1]:PORT"),
        ("CONNECT [::ffff:127.0.0.1]:PORT HTTP/1.1\r\n\r\n", "127.0.0.1:PORT"),
        ("CONNECT evil.localhost:PORT HTTP/1.1\r\n\r\n", "evil.localhost:PORT"),
        ("CONNECT wild.example:PORT HTTP/1.1\r\n\r\n", "wild.example:PORT"),
        // Names that are listed, and answered for by somebody who points them here.
        ("CONNECT a.wild.example:PORT HTTP/1.1\r\n\r\n", "127.0.0.1:PORT"),
        ("GET http://rebound.example:PORT/ HTTP/1.1\r\n\r\n", "127.0.0.1:PORT"),
    ];
    for (request, wanted) in cases {
        let answer = world.ask(request);
        let wanted = world.said(wanted);
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{request}: {answer}");
        assert!(answer.contains(&format!("`--network={wanted}`")), "{request}: {answer}");
        let wanted = Refusal::Host(wanted.parse().unwrap());
        assert!(world.proxy.refusals().all().contains(&wanted), "{request}");
    }
    assert!(world.heard_nothing());
}

#[test]
fn a_listed_name_does_not_lead_to_the_clouds_own_services() {
    let world = World::of(&["metadata.example", "*.example"]);
    for host in ["metadata.example", "private.example"] {
        let answer = world.ask(&format!("GET http://{host}/ HTTP/1.1\r\n\r\n"));
        let expected = if host == "private.example" { "10.255.255.1" } else { "169.254.169.254" };
        assert!(answer.contains(&format!("{host} is {expected}")), "{answer}");
    }
}

#[test]
fn requests_that_are_none_are_told_so() {
    let world = World::new(&["localhost:PORT"], None, Duration::from_millis(200));
    let huge = format!("GET http://localhost:PORT/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(100_000));
    for (request, code) in [
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
        ("\r\n\r\n", "400"),
        ("\u{16}\u{3}\u{1}\0\u{5}hello\r\n\r\n", "400"),
        (huge.as_str(), "431"),
        ("GET http://localhost:PORT/ HTTP/1.1\r\nSlow: ", "408"),
        ("GET http://gone.example/ HTTP/1.1\r\n\r\n", "403"),
    ] {
        let answer = world.ask(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{request:.40}: {answer}");
    }
    assert!(world.heard_nothing());
    let unknown = World::of(&["gone.example"]).ask("GET http://gone.example/ HTTP/1.1\r\n\r\n");
    assert!(unknown.starts_with("HTTP/1.1 502 "), "{unknown}");
}

#[test]
fn a_gate_that_others_can_find_wants_to_hear_its_word() {
    let world = World::new(&["localhost:PORT"], Some("jm:word"), Duration::from_secs(5));
    let request = |field: &str| format!("GET http://localhost:PORT/ HTTP/1.1\r\n{field}\r\n");
    for field in ["", "Proxy-Authorization: Basic am06d29ya2==\r\n"] {
        let answer = world.ask(&request(field));
        assert!(answer.starts_with("HTTP/1.1 407 "), "{answer}");
    }
    let told = world.answering("HTTP/1.1 204 No Content\r\n\r\n");
    let answer = world.ask(&request("Proxy-Authorization: Basic am06d29yZA==\r\n"));
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert!(!told.recv_timeout(PATIENCE).unwrap().contains("Authorization"));
}

/// Checks what the proxy makes of the first bytes of a tunnel to `localhost`.
fn check_tunnel(greeting: &[u8], refused: Option<&str>) {
    let world = World::of(&["localhost:PORT"]);
    let told = world.answering("served");
    let mut client = world.connect();
    let request = world.said("CONNECT localhost:PORT HTTP/1.1\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    let (first, second) = greeting.split_at(30);
    client.write_all(first).unwrap();
    ignore_error(client.write_all(second), "the egress proxy may have closed it by now");
    let answer = everything(&mut client);
    assert_eq!(answer.ends_with("served"), refused.is_none(), "{answer}");
    // The client is told, in the words of TLS.
    assert_eq!(answer.contains("\r\n\r\n\u{15}\u{3}\u{3}"), refused.is_some(), "{answer:?}");
    let heard = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(heard.is_empty(), refused.is_some(), "{heard}");
    let said: Vec<String> = world.proxy.refusals().all().iter().map(Refusal::what).collect();
    let expected: Vec<String> = refused.map(|text| world.said(text)).into_iter().collect();
    assert_eq!(said, expected);
}

#[test]
fn another_name_inside_the_tunnel_is_refused() {
    check_tunnel(&greeting(Some("localhost"), 20), None);
    check_tunnel(&greeting(None, 20), None);
    let other = "host evil.example:PORT was refused: not on the list";
    check_tunnel(&greeting(Some("evil.example"), 20), Some(other));
}

#[test]
fn a_greeting_whose_name_cannot_be_read_is_refused() {
    let unclear = "a TLS connection to localhost was refused: its first message has no \
                   readable server name";
    let good = greeting(Some("localhost"), 16_384);
    let behind_a_warning = [&[21, 3, 1, 0, 2, 1, 0][..], &good].concat();
    let no_name = greeting(Some("not a name"), 16_384);
    let long = [&[22, 3, 1, 0xff, 0xff, 1][..], &[0; 64 * 1024]].concat();
    for greeting in [behind_a_warning, no_name, long] {
        check_tunnel(&greeting, Some(unclear));
    }
}

#[test]
fn more_connections_than_it_takes_wait_and_a_closed_gate_ends_them_all() {
    let world = World::of(&["localhost:PORT"]);
    let mut idle: Vec<TcpStream> = (0..MOST_CONNECTIONS).map(|_| world.connect()).collect();
    let request = world.said("CONNECT localhost:PORT HTTP/1.1\r\n\r\n");
    let mut waiting = world.connect();
    waiting.write_all(request.as_bytes()).unwrap();
    idle.pop();
    let mut answer = [0; 12];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let began = Instant::now();
    drop(world);
    assert!(began.elapsed() < PATIENCE);
    everything(&mut waiting);
    assert!(idle.iter_mut().all(|client| everything(client).is_empty()));
}

#[test]
fn a_gate_whose_door_never_opens_closes_too() {
    let list = HostList::new(vec!["a.org".parse().unwrap()]).unwrap();
    let (proxy, sender) = EgressProxy::open(list.clone(), None).unwrap();
    drop(proxy);
    drop(sender);
    let (proxy, sender) = EgressProxy::open(list, None).unwrap();
    drop(sender);
    drop(proxy);
}
