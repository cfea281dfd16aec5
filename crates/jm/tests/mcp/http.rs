//! Both directions over HTTP: our client against our server, and what the server refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::world::{Home, text};

/// A server on a free port, with its address and token.
struct Serving {
    child: Child,
    address: String,
    token: String,
}

impl Serving {
    fn start(home: &Home) -> Self {
        let mut command = home.command(&["mcp", "serve", "--http", "0", "--allow", "write_file"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
        let token = lines.next().unwrap().unwrap();
        let token = token.strip_prefix("Authorization: Bearer ").unwrap().to_owned();
        assert_eq!(token.len(), 64);
        Self { child, address, token }
    }

    /// The status of a bare request.
    fn status(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let has_host = headers.iter().any(|(name, _)| *name == "Host");
        let host = if has_host { String::new() } else { format!("Host: {}\r\n", self.address) };
        let more: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "POST {path} HTTP/1.1\r\n{host}{more}Content-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[9..]).into_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A home whose server `s` is reached by an address.
fn reached_by(url: &str, token: &str) -> Home {
    let home = Home::with_server("good", "");
    let table = format!(
        "[mcp.s]\nurl = \"{url}\"\nheaders = {{ Authorization = \"Bearer ${{TOKEN}}\" }}\nstart_seconds = 20\n"
    );
    std::fs::write(home.path().join(".config/journeyman/config.toml"), table).unwrap();
    std::fs::write(home.path().join("token"), token).unwrap();
    home
}

fn jm(home: &Home, args: &[&str]) -> String {
    let token = std::fs::read_to_string(home.path().join("token")).unwrap();
    text(&home.command(args).env("TOKEN", token).output().unwrap())
}

#[test]
fn a_server_reached_by_an_address_is_used_like_any_other() {
    let theirs = Home::with_server("good", "");
    std::fs::write(theirs.workspace().join("a.txt"), "one\ntwo\n").unwrap();
    let serving = Serving::start(&theirs);
    let home = reached_by(&format!("http://{}/mcp", serving.address), &serving.token);
    let tested = jm(&home, &["mcp", "test", "s"]);
    assert!(tested.contains("2026-07-28 (modern)") && tested.contains("s__read_file"), "{tested}");
    let read = jm(&home, &["--yes", "mcp", "call", "s", "read_file", r#"{"path":"a.txt"}"#]);
    assert!(read.contains("one\ntwo"), "{read}");
    let call = ["--yes", "mcp", "call", "s", "write_file", r#"{"path":"b.txt","content":"b\n"}"#];
    let written = jm(&home, &call);
    assert_eq!(
        std::fs::read_to_string(theirs.workspace().join("b.txt")).unwrap(),
        "b\n",
        "{written}"
    );
}

#[test]
fn a_request_needs_the_token_and_comes_from_no_page() {
    let theirs = Home::with_server("good", "");
    let serving = Serving::start(&theirs);
    let bearer = format!("Bearer {}", serving.token);
    let good = ("Authorization", bearer.as_str());
    let version = ("MCP-Protocol-Version", "2025-11-25");
    let cases = [
        ("no token", "/mcp", vec![], "401"),
        ("a wrong token", "/mcp", vec![("Authorization", "Bearer x")], "401"),
        ("another scheme", "/mcp", vec![("Authorization", serving.token.as_str())], "401"),
        ("a page's origin", "/mcp", vec![good, ("Origin", "http://evil.example")], "403"),
        ("a page without one", "/mcp", vec![good, ("Origin", "null")], "403"),
        ("a page here, no token", "/mcp", vec![("Origin", "http://localhost:3000")], "401"),
        ("another host", "/mcp", vec![good, ("Host", "evil.example")], "403"),
        ("another path", "/", vec![good, version], "404"),
    ];
    for (case, path, headers, expected) in cases {
        assert_eq!(serving.status(path, &headers), expected, "{case}");
    }
}

#[test]
fn an_address_that_does_not_answer_is_said() {
    let cases = [
        ("http://127.0.0.1:9/mcp", "error sending request"),
        ("http://example.org/mcp", "no TLS"),
        ("gopher://example.org/mcp", "not https"),
    ];
    for (url, expected) in cases {
        let home = reached_by(url, "t");
        let tested = jm(&home, &["mcp", "test", "s"]);
        assert!(tested.contains(expected), "{url}: {tested}");
    }
}
