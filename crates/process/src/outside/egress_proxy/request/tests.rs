//! Requests as clients and attackers write them.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use super::*;

fn forwarded(head: &str) -> (Host, u16, String, Framing) {
    let request = parse(head.as_bytes()).unwrap();
    match request.wish {
        RequestPurpose::Forward { head, body } => {
            (request.host, request.port, String::from_utf8(head).unwrap(), body)
        }
        RequestPurpose::Tunnel => panic!("{head}"),
    }
}

#[test]
fn a_tunnel_names_host_and_port() {
    let head =
        b"CONNECT Example.org.:443 HTTP/1.1\r\nHost: other\r\nProxy-Authorization: Basic x\r\n\r\n";
    let expected = ProxyRequest {
        host: Host::Name("example.org".into()),
        port: 443,
        credentials: Some("Basic x".into()),
        wish: RequestPurpose::Tunnel,
    };
    assert_eq!(parse(head).unwrap(), expected);
    let six = parse(b"CONNECT [::1]:8443 HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!((six.host.to_string().as_str(), six.port), ("[::1]", 8443));
}

#[test]
fn the_server_hears_of_the_host_that_was_judged() {
    let (host, port, head, body) = forwarded(
        "GET http://example.org:8080/a?b HTTP/1.1\r\nHost: evil.example\r\nAccept: */*\r\n\
         Connection: keep-alive, X-Private\r\nX-Private: 1\r\nProxy-Connection: keep-alive\r\n\
         Upgrade: websocket\r\n\r\n",
    );
    assert_eq!((host.to_string().as_str(), port), ("example.org", 8080));
    assert_eq!(
        head,
        "GET /a?b HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(body, Framing::empty());
    let (_, port, head, _) = forwarded("GET HTTP://example.org?x HTTP/1.0\r\n\r\n");
    assert_eq!(port, 80);
    assert!(head.starts_with("GET /?x HTTP/1.0\r\nHost: example.org\r\n"), "{head}");
}

#[test]
fn bodies_have_one_length() {
    let body = |fields: &str| forwarded(&format!("POST http://a.org/ HTTP/1.1\r\n{fields}\r\n")).3;
    assert_eq!(body("Content-Length: 12\r\n"), Framing::of_length(12));
    assert_eq!(body("Transfer-Encoding: Chunked\r\n"), Framing::chunked());
    // A field that is said to be of the connection still says how long the body is.
    let (_, _, head, _) = forwarded(
        "POST http://a.org/ HTTP/1.1\r\nContent-Length: 3\r\nConnection: content-length\r\n\r\n",
    );
    assert!(head.contains("Content-Length: 3\r\n"), "{head}");
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let lines = [
        "GET / HTTP/1.1\r\nHost: a.org\r\n",
        "GET https://a.org/ HTTP/1.1\r\n",
        "GET ftp://a.org/ HTTP/1.1\r\n",
        "GET http://user@a.org/ HTTP/1.1\r\n",
        "GET http://a.org\\@b.org/ HTTP/1.1\r\n",
        "GET http://a.org#@b.org/ HTTP/1.1\r\n",
        "GET http:///a HTTP/1.1\r\n",
        "GET http://a.org:80:90/ HTTP/1.1\r\n",
        "GET http://2130706433/ HTTP/1.1\r\n",
        "GET  http://a.org/ HTTP/1.1\r\n",
        "GET http://a.org/ HTTP/2.0\r\n",
        "GET http://a.org/\r\n",
        "GET http://a.org/ x HTTP/1.1\r\n",
        "CONNECT a.org HTTP/1.1\r\n",
        "CONNECT a.org:443/x HTTP/1.1\r\n",
        "CONNECT http://a.org:443 HTTP/1.1\r\n",
        "CONNECT a.org:443@b.org HTTP/1.1\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost : a\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: b\r\n folded\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: b\rC: d\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: b\nContent-Length: 5\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: \0\r\n",
        "POST http://a.org/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n",
        "POST http://a.org/ HTTP/1.1\r\nContent-Length: 5, 5\r\n",
        "POST http://a.org/ HTTP/1.1\r\nContent-Length: +5\r\n",
        "POST http://a.org/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n",
        "POST http://a.org/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n",
        "POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n",
        "POST http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n",
    ];
    for head in lines {
        let refused = parse(format!("{head}\r\n").as_bytes());
        assert_eq!(refused.map_err(|refused| refused.code), Err(400), "{head:?}");
    }
    let many = format!("GET http://a.org/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200));
    assert_eq!(parse(many.as_bytes()).map_err(|refused| refused.code), Err(431));
    assert!(parse(b"GET http://a.org/\xff HTTP/1.1\r\n\r\n").is_err());
}
