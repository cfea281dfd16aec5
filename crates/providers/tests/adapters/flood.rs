//! A flood of text passes through without staying.

use futures_util::StreamExt;
use jm_providers::Wire;
use jm_script::{Script, ScriptedModel};
use jm_types::{Cancel, StreamEvent};

use super::world::{request, settings};

/// This process's memory, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

const MEGABYTES: u64 = 32;
const MARK: u64 = 4 << 20;

#[tokio::test]
async fn text_takes_no_memory_beyond_its_event() {
    // Each event is its own allocation, so memory would show if any of them stayed.
    let script = format!(
        "[[turn]]\nsteps = [{{ text = \"{}\", repeat = {} }}]\n",
        "a flood of words ".repeat(241),
        MEGABYTES * 256,
    );
    for wire in [Wire::Anthropic, Wire::OpenaiChat, Wire::Gemini, Wire::OpenaiResponses] {
        let mut settings = settings();
        settings.sizes.answer = None;
        let script = Script::parse(&script).unwrap().in_wire(wire);
        let client = ScriptedModel::start(script, &settings).await.unwrap();
        let mut stream = client.stream(request("Go."), Cancel::new());
        let (mut bytes, mut sizes) = (0, Vec::new());
        while let Some(event) = stream.next().await {
            if let StreamEvent::Text { delta, .. } = event.unwrap() {
                if bytes / MARK != (bytes + delta.len() as u64) / MARK {
                    sizes.push(resident());
                }
                bytes += delta.len() as u64;
            }
        }
        assert!(bytes >= MEGABYTES << 20, "{wire:?}: {bytes}");
        let grown = sizes[sizes.len() - 1].saturating_sub(sizes[0]);
        assert!(grown < 12 << 20, "{wire:?}: {grown} bytes more after {bytes}: {sizes:?}");
    }
}
