//! The first start, with no model configured: a key for a vendor, a server on this machine, or the demo.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::desk::{Desk, Kind};

/// Answers requests until one was a POST, and gives back their heads.
fn serve(
    answer: &'static str,
    stops: impl Fn(&str) -> bool + Send + 'static,
) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                head.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            let head = String::from_utf8_lossy(&head).into_owned();
            if stops(&head) {
                return head;
            }
        }
    });
    (address, served)
}

const MODELS: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 35\r\n\
                      connection: close\r\n\r\n{\"data\":[{\"id\":\"tiny\"},{\"id\":\"b\"}]}";

#[test]
fn a_local_server_that_answers_is_offered() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let (address, server) = serve(MODELS, |head| head.starts_with("GET /v1/models"));
    let before = format!("OLLAMA_BASE_URL={address}/v1 LMSTUDIO_BASE_URL=http://127.0.0.1:9/v1");
    desk.start_with(&before, "", "No model configured");
    desk.answer("l");
    desk.wait_for("1 ollama/tiny");
    server.join().unwrap();
    desk.answer("1");
    desk.wait_for("Using ollama/tiny from now on");
    desk.wait_for("approve prompt");
    desk.key("C-d");
    desk.wait_until("the shell", |all| all.trim_end().ends_with("ready>"));
    desk.assert_sane();
}

#[test]
fn without_a_server_the_question_is_asked_again() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let nowhere = "OLLAMA_BASE_URL=http://127.0.0.1:9/v1 LMSTUDIO_BASE_URL=http://127.0.0.1:9/v1";
    desk.start_with(nowhere, "", "No model configured");
    desk.answer("l");
    desk.wait_for("No local server found: Ollama, LM Studio");
    desk.wait_for("No model configured");
    desk.answer("q");
    desk.wait_until("the shell", |all| all.trim_end().ends_with("ready>"));
    desk.assert_sane();
}

const REFUSED: &str =
    "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

/// The key is pasted unseen, kept in a real keyring, and used.
#[test]
fn a_pasted_key_is_kept_in_the_keyring_and_used() {
    if !jm_testing::has("keyring") {
        return;
    }
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let (address, server) = serve(REFUSED, |head| head.starts_with("POST"));
    for folder in ["data", "runtime"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    let (data, runtime) = (desk.path("data"), desk.path("runtime"));
    desk.line(&format!(
        "export XDG_DATA_HOME={} XDG_RUNTIME_DIR={} ANTHROPIC_BASE_URL={address}",
        data.display(),
        runtime.display()
    ));
    desk.line("dbus-run-session -- bash --norc --noprofile");
    desk.wait_for("bash-");
    desk.line("printf password | gnome-keyring-daemon --unlock --components=secrets > /dev/null; echo un''locked");
    desk.wait_for("unlocked");
    desk.start_with("", "", "No model configured");
    desk.answer("1");
    desk.wait_for("Paste the Anthropic API key");
    desk.paste("sk-secret-0123456789\n");
    let all = desk.wait_for("key: ****");
    assert!(!all.contains("sk-secret"), "{all}");
    desk.key("Enter");
    desk.wait_for("Saved ANTHROPIC_API_KEY in the keyring");
    desk.wait_for("approve prompt");
    desk.line("hello");
    let head = server.join().unwrap().to_lowercase();
    assert!(head.contains("x-api-key: sk-secret-0123456789"), "{head}");
    desk.key("C-d");
    let all = desk.wait_for("bash-");
    assert!(!all.contains("sk-secret"), "{all}");
}
