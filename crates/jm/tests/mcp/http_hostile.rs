//! The table of bad servers that are reached by an address: each answer has one defined outcome, and none is read without end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Home, text};

/// The behaviour of the server in a call.
#[derive(Clone, Copy, Debug)]
enum Does {
    Answers,
    /// JSON of 64 MB with its length.
    LongJson,
    /// JSON without an end.
    EndlessJson,
    /// An error of HTTP whose JSON has no end.
    EndlessError,
    /// One event without an end.
    EndlessEvent,
    /// Events without an end and without an answer.
    EventsForever,
    HalfAnAnswer,
    Page,
    Redirect,
    NoAnswer,
}

/// Behaviour, the exit code, and what is said.
const CASES: &[(Does, i32, &str)] = &[
    (Does::Answers, 0, "hello"),
    (Does::LongJson, 1, "it sent an answer of more than 16777216 bytes"),
    (Does::EndlessJson, 1, "it sent an answer of more than 16777216 bytes"),
    (Does::EndlessError, 1, "it sent an answer of more than 16777216 bytes"),
    (Does::EndlessEvent, 1, "it sent an answer of more than 16777216 bytes"),
    (Does::EventsForever, 1, "timed out"),
    (Does::HalfAnAnswer, 1, "the outcome is unknown, and the call is not repeated"),
    (Does::Page, 1, "the outcome is unknown, and the call is not repeated"),
    (Does::Redirect, 1, "HTTP 307"),
    (Does::NoAnswer, 1, "timed out"),
];

/// Serves each connection on a thread of its own; gives the address.
fn serve(does: Does) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that goes away in the middle is what is tested.
            std::thread::spawn(move || answer(does, stream).unwrap_or_default());
        }
    });
    address
}

fn answer(does: Does, stream: TcpStream) -> std::io::Result<()> {
    let (message, mut stream) = request(stream)?;
    let id = &message["id"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }),
        Some("tools/list") => {
            let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
            json!({"tools": [{"name": "echo", "inputSchema": schema}]})
        }
        Some("tools/call") => return misbehave(does, id, stream),
        Some("server/discover") => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return whole(&mut stream, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        _ => return write!(stream, "HTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n"),
    };
    whole(&mut stream, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn request(stream: TcpStream) -> std::io::Result<(Value, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((serde_json::from_slice(&body).unwrap_or_default(), reader.into_inner()))
}

fn head(stream: &mut TcpStream, status: &str, kind: &str) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n")
}

fn whole(stream: &mut TcpStream, message: &Value) -> std::io::Result<()> {
    let body = message.to_string();
    head(stream, "200 OK", "application/json")?;
    write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Writes the same again and again, until nobody reads it.
fn forever(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    loop {
        stream.write_all(text.as_bytes())?;
    }
}

fn misbehave(does: Does, id: &Value, mut stream: TcpStream) -> std::io::Result<()> {
    let stream = &mut stream;
    let begun =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
    let many = "x".repeat(64 * 1024);
    match does {
        Does::Answers => {
            let content = json!([{"type": "text", "text": "hello"}]);
            whole(stream, &json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}}))
        }
        Does::LongJson => {
            head(stream, "200 OK", "application/json")?;
            write!(stream, "Content-Length: {}\r\n\r\n{begun}", 64 * 1024 * 1024)?;
            forever(stream, &many)
        }
        Does::EndlessJson => {
            head(stream, "200 OK", "application/json")?;
            write!(stream, "\r\n{begun}")?;
            forever(stream, &many)
        }
        Does::EndlessError => {
            head(stream, "400 Bad Request", "application/json")?;
            write!(stream, "\r\n{begun}")?;
            forever(stream, &many)
        }
        Does::EndlessEvent => {
            head(stream, "200 OK", "text/event-stream")?;
            write!(stream, "\r\ndata: {begun}")?;
            forever(stream, &many)
        }
        Does::EventsForever => {
            head(stream, "200 OK", "text/event-stream")?;
            write!(stream, "\r\n")?;
            let news = json!({"level": "info", "data": "x"});
            let method = "notifications/message";
            let message = json!({"jsonrpc": "2.0", "method": method, "params": news});
            loop {
                write!(stream, "data: {message}\n\n")?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Does::HalfAnAnswer => {
            head(stream, "200 OK", "application/json")?;
            write!(stream, "Content-Length: 1000\r\n\r\n{begun}")
        }
        Does::Page => {
            head(stream, "200 OK", "text/html")?;
            write!(stream, "\r\n<p>hello</p>")
        }
        Does::Redirect => {
            write!(stream, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/\r\n")?;
            write!(stream, "Content-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Does::NoAnswer => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
    }
}

#[test]
fn every_bad_answer_over_http_has_its_outcome() {
    std::thread::scope(|scope| {
        for (does, code, said) in CASES {
            scope.spawn(move || {
                let home = Home::with_server("unused", "");
                let table = format!(
                    "[mcp.s]\nurl = \"http://{}/mcp\"\nstart_seconds = 20\ncall_seconds = 5\n",
                    serve(*does)
                );
                let config = home.path().join(".config/journeyman/config.toml");
                std::fs::write(config, table).unwrap();
                let began = Instant::now();
                let call = ["--yes", "call", "s__echo", r#"{"text":"hello"}"#];
                let output = home.jm(&call);
                let text = text(&output);
                assert_eq!(output.status.code(), Some(*code), "{does:?}: {text}");
                assert!(text.contains(said), "{does:?}: {text}");
                assert!(began.elapsed() < Duration::from_secs(40), "{does:?}");
            });
        }
    });
}
