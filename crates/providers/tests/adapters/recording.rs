//! A recorded conversation can be played again, and holds no key.

use std::io::Write;
use std::sync::{Arc, Mutex};

use jm_providers::{ModelClient, TrafficRecorder, Wire};
use jm_script::{Script, ScriptedModel};

use super::world::{converse, listen, request, scripted, settings};

/// A file, as far as a recorder knows.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

const KEY: &str = "sk-very-secret";

const SCRIPT: &str = r#"
[[turn]]
status = 529
body = "busy; you said sk-very-secret"

[[turn]]
steps = [
  { thinking = "Hm." },
  { text = "Here — \u007f \"quoted\" \\ fin." },
  { call = "read_file", args = { path = "a" } },
]

[[turn]]
steps = [{ text = "Done." }]
"#;

/// Plays the script as if it were the vendor, with a key, and records it.
async fn recorded(wire: Wire) -> (String, Vec<String>) {
    let server = scripted(SCRIPT, wire).await;
    let (name, base) = match wire {
        Wire::Anthropic => ("anthropic/m", "ANTHROPIC"),
        Wire::OpenaiResponses => ("openai/m", "OPENAI"),
        Wire::OpenaiChat => ("openai-chat/m", "OPENAI"),
        Wire::Gemini => ("gemini/m", "GEMINI"),
    };
    let paper = Paper::default();
    let mut settings = settings();
    let url = server.server.base_url(wire);
    let url = url.trim_end_matches("/v1beta").to_owned();
    settings.environment.insert(format!("{base}_BASE_URL"), url);
    settings.environment.insert(format!("{base}_API_KEY"), KEY.to_owned());
    settings.recorder = Some(TrafficRecorder::new(paper.clone()));
    let client = ModelClient::open(name, &settings).unwrap();
    let (_, heard) = converse(&client, request(&format!("Go with {KEY}."))).await;
    assert_eq!(settings.recorder.unwrap().failure(), None);
    let texts = heard.iter().map(|answer| answer.turn.message.text()).collect();
    (paper.text(), texts)
}

#[tokio::test]
async fn what_was_recorded_plays_again_without_the_key() {
    for wire in Wire::ALL {
        let (recording, said) = recorded(wire).await;
        assert!(!recording.contains(KEY), "{recording}");
        assert_eq!(recording.matches("[[turn]]").count(), 3, "{recording}");
        let script = Script::parse(&recording).unwrap();
        assert_eq!(script.wire(), wire);
        let again = ScriptedModel::start(script, &settings()).await.unwrap();
        let first = listen(&again, request("Go.")).await;
        assert_eq!((first.error.clone(), first.retries()), (None, 1), "{wire:?}");
        assert_eq!(first.turn.message.text(), said[0], "{wire:?}");
        assert_eq!(recording.matches("[key]").count(), 4, "{recording}");
        assert_eq!(first.turn.message.calls().count(), 1, "{wire:?}");
    }
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("no space left"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_recording_that_fails_says_so_and_the_conversation_goes_on() {
    let mut settings = settings();
    settings.recorder = Some(TrafficRecorder::new(Full));
    let script = Script::parse("[[turn]]\nsteps = [{ text = \"Hi\" }]\n").unwrap();
    let client = ScriptedModel::start(script, &settings).await.unwrap();
    let heard = listen(&client, request("Go.")).await;
    assert_eq!((heard.error, heard.turn.message.text().as_str()), (None, "Hi"));
    assert_eq!(settings.recorder.unwrap().failure().as_deref(), Some("no space left"));
}
