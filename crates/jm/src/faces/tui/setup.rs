//! The first start: no model is configured, so one is chosen, with its key.

use anyhow::{Context, Result};
use jm_system::keyring::Keyring;
use jm_system::state::write_new;
use jm_tui::block::Note;
use jm_tui::panel::question::PanelChoice;
use jm_tui::text::Line;

use super::talk::Talk;
use crate::{locations, model_client};

/// Vendors with a model to begin with.
const VENDORS: &[(&str, &str, &str)] = &[
    ("anthropic", "Anthropic", "anthropic/claude-sonnet-4-5"),
    ("openai", "OpenAI", "openai/gpt-5"),
    ("gemini", "Google Gemini", "gemini/gemini-2.5-pro"),
    ("openrouter", "OpenRouter", "openrouter/anthropic/claude-sonnet-4.5"),
];

/// The outcome of the setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    Ready,
    Demo,
    Quit,
}

/// Asks for a model where none is configured.
pub(super) async fn model(talk: &mut Talk) -> Result<Setup> {
    if talk.model.model.is_some() || !super::configured(&talk.common)?.is_empty() {
        return Ok(Setup::Ready);
    }
    let desk = talk.desk.clone();
    let mut choices: Vec<PanelChoice> = VENDORS
        .iter()
        .zip('1'..='9')
        .map(|((_, label, _), key)| PanelChoice::new(key, label))
        .collect();
    choices.push(PanelChoice::new('l', "local server"));
    choices.push(PanelChoice::new('d', "demo, no key needed"));
    choices.push(PanelChoice::new('q', "quit"));
    let facts = vec![Line::text("Choose who answers. A key is kept in the system keyring.")];
    let asked = desk.ask("No model configured", facts, choices);
    let Some(Some(choice)) = talk.meanwhile(asked, None).await else { return Ok(Setup::Quit) };
    match choice.checked_sub(VENDORS.len()) {
        None => vendor(talk, VENDORS[choice]).await,
        Some(0) => {
            let note =
                Note::info("A server that speaks like OpenAI's (Ollama, llama.cpp, LM Studio):");
            desk.note(
                note.hint("OPENAI_BASE_URL=http://localhost:11434/v1 jm --model openai-chat/NAME"),
            );
            Ok(Setup::Quit)
        }
        Some(1) => Ok(Setup::Demo),
        Some(_) => Ok(Setup::Quit),
    }
}

async fn vendor(talk: &mut Talk, (vendor, label, model): (&str, &str, &str)) -> Result<Setup> {
    let desk = talk.desk.clone();
    let (found, _) = model_client::key_of(vendor)?;
    if found.from == model_client::KeySource::Nowhere {
        let title = format!("Paste the {label} API key, then Enter (Esc cancels)");
        let asked = desk.ask_secret(&title);
        let Some(Some(key)) = talk.meanwhile(asked, None).await else { return Ok(Setup::Quit) };
        let key = key.trim().to_owned();
        if key.is_empty() || key.contains(char::is_whitespace) {
            desk.note(Note::error("That is no key: a key is one word"));
            return Ok(Setup::Quit);
        }
        match Keyring::find() {
            Some(keyring) => {
                keyring.set(&found.variable, &key).context("the keyring did not take the key")?;
                desk.note(Note::info(format!("{} is in the keyring", found.variable)));
            }
            None => {
                let note = Note::error("This system has no keyring that jm can use");
                desk.note(note.hint(format!(
                    "install libsecret-tools, or set {} in the environment",
                    found.variable
                )));
                return Ok(Setup::Quit);
            }
        }
    }
    talk.model.model = Some(model.to_owned());
    keep_choice(talk, model);
    Ok(Setup::Ready)
}

/// Only where there is no configuration yet: a file of the person's is not rewritten.
fn keep_choice(talk: &Talk, model: &str) {
    use std::io::Write;
    let kept = locations::user_config().and_then(|path| {
        let mut file = write_new(&path).ok()?;
        writeln!(file, "model = \"{model}\"").ok()?;
        Some(path)
    });
    let note = match kept {
        Some(path) => Note::info(format!("{model} is the model from now on ({})", path.display())),
        None => Note::info(format!("{model} answers in this session"))
            .hint(format!("for good: `model = \"{model}\"` in the configuration")),
    };
    talk.desk.note(note);
}
