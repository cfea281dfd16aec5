//! Keys in a real keyring: a message bus and a keyring service of their own, for one test.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::desk::Desk;

const KEY: &str = "sk-kept-0123456789";

/// Unlocks the keyring, then keeps, uses, lists and forgets a key.
const ORDER: &str = r#"
printf password | gnome-keyring-daemon --unlock --components=secrets > /dev/null
printf '%s\n' "$KEY" | "$JM" keys set anthropic
"$JM" keys
printf 'two words' | "$JM" keys set openai
"$JM" run hello --model anthropic/claude-opus-5-5 --debug
"$JM" keys remove anthropic
"$JM" keys --json
"#;

/// Answers one request with a refusal, and says what it was.
fn serve_once(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.extend(byte);
    }
    let answer = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    stream.write_all(answer.as_bytes()).unwrap();
    String::from_utf8_lossy(&head).to_ascii_lowercase()
}

#[test]
fn a_key_of_the_keyring_is_used_and_never_shown() {
    if !jm_testing::has("keyring") {
        return;
    }
    let desk = Desk::new("anthropic");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || serve_once(&listener));
    let jm = desk.jm(&[]);
    let mut command = Command::new("dbus-run-session");
    command.args(["--", "sh", "-c", ORDER]).env_clear();
    for (name, value) in jm.get_envs() {
        command.env(name, value.unwrap());
    }
    for folder in ["data", "runtime"] {
        fs::create_dir(desk.path(folder)).unwrap();
    }
    // The message bus finds no services of the machine's, so that nothing else is started.
    command.env("XDG_DATA_HOME", desk.path("data")).env("XDG_RUNTIME_DIR", desk.path("runtime"));
    command.env("JM", jm.get_program()).env("KEY", KEY).env("ANTHROPIC_BASE_URL", address);
    let output = command.stdin(Stdio::null()).current_dir(desk.path("")).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));

    assert!(out.contains("Saved ANTHROPIC_API_KEY in the keyring\n"), "{out}{err}");
    assert!(out.contains("anthropic    ANTHROPIC_API_KEY      keyring\n"), "{out}{err}");
    assert!(err.contains("not a key: expected one word on one line"), "{out}{err}");
    let request = server.join().unwrap();
    assert!(request.contains(&format!("x-api-key: {KEY}\r\n")), "{request}");
    let gone = r#"{"provider":"anthropic","variable":"ANTHROPIC_API_KEY","from":"not set"}"#;
    assert!(out.contains(gone), "{out}{err}");
    assert!(!out.contains(KEY) && !err.contains(KEY), "{out}{err}");
    let journal = desk.journal_bytes();
    assert!(!journal.is_empty());
    assert!(!journal.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
}
