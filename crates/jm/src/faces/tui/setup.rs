//! The first start: no model is configured, so one is chosen, with its key.

use anyhow::Result;
use jm_system::keyring::Keyring;
use jm_system::state::write_first;
use jm_tui::block::Note;
use jm_tui::panel::question::PanelChoice;
use jm_tui::text::Line;
use jm_types::text::one_line;

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
    if !model_client::chosen_name(&talk.common, &talk.model)?.is_empty() {
        return Ok(Setup::Ready);
    }
    let desk = talk.desk.clone();
    let mut choices: Vec<PanelChoice> = VENDORS
        .iter()
        .zip('1'..='9')
        .map(|((_, label, _), key)| PanelChoice::new(key, label))
        .collect();
    choices.push(PanelChoice::new('l', "a local server"));
    choices.push(PanelChoice::new('d', "demo, no key needed"));
    choices.push(PanelChoice::new('q', "quit"));
    let facts = vec![Line::text("Choose who answers. A key is kept in the system keyring.")];
    loop {
        let asked = desk.ask("No model configured", facts.clone(), choices.clone());
        let Some(Some(choice)) = talk.meanwhile(asked, None).await else { return Ok(Setup::Quit) };
        let chosen = match choice.checked_sub(VENDORS.len()) {
            None => vendor(talk, VENDORS[choice]).await?,
            Some(0) => local(talk).await?,
            Some(1) => return Ok(Setup::Demo),
            Some(_) => return Ok(Setup::Quit),
        };
        if let Some(model) = chosen {
            keep_choice(talk, &model);
            talk.model.model = Some(model);
            return Ok(Setup::Ready);
        }
    }
}

/// A model of a server on this machine; nothing where none answers.
async fn local(talk: &mut Talk) -> Result<Option<String>> {
    let desk = talk.desk.clone();
    let looked = talk.meanwhile(model_client::local_models(), None).await;
    let Some(looked) = looked else { return Ok(None) };
    let (models, silent) = looked?;
    if models.is_empty() {
        let text = format!("No local server found: {}", silent.join(", "));
        let hint = "start one (`ollama serve`), or set OLLAMA_BASE_URL; any other server that speaks \
                    Chat Completions: NAME_BASE_URL=http://… jm --model NAME/MODEL";
        desk.note(Note::warning(text).hint(hint));
        return Ok(None);
    }
    let shown: Vec<(&String, char)> = models.iter().zip('1'..='9').collect();
    let mut choices: Vec<PanelChoice> =
        shown.iter().map(|(name, key)| PanelChoice::new(*key, &one_line(name))).collect();
    choices.push(PanelChoice::new('b', "back"));
    let facts = match models.len() - shown.len() {
        0 => Vec::new(),
        more => vec![Line::text(format!("{more} more: `jm --model PROVIDER/NAME` takes any"))],
    };
    let asked = desk.ask("Models on this machine", facts, choices);
    let chosen = talk.meanwhile(asked, None).await.flatten();
    Ok(chosen.and_then(|at| shown.get(at)).map(|(name, _)| (*name).clone()))
}

/// A vendor's model, with its key in the environment or the keyring; nothing where there is none.
async fn vendor(
    talk: &mut Talk,
    (vendor, label, model): (&str, &str, &str),
) -> Result<Option<String>> {
    let desk = talk.desk.clone();
    let (found, _) = model_client::key_of(vendor)?;
    if found.from != model_client::KeySource::Nowhere {
        return Ok(Some(model.to_owned()));
    }
    let Some(keyring) = Keyring::find() else {
        let note = Note::error("This system has no keyring that jm can use");
        desk.note(note.hint(format!(
            "install libsecret-tools, or set {} in the environment",
            found.variable
        )));
        return Ok(None);
    };
    let title = format!("Paste the {label} API key, then Enter (Esc goes back)");
    let asked = desk.ask_secret(&title);
    let Some(Some(key)) = talk.meanwhile(asked, None).await else { return Ok(None) };
    let key = key.trim().to_owned();
    if key.is_empty() || key.contains(char::is_whitespace) {
        desk.note(Note::error("Not a key: expected one word"));
        return Ok(None);
    }
    if let Err(error) = keyring.set(&found.variable, &key) {
        let note = Note::error(format!("The keyring refused the key: {error}"));
        desk.note(note.hint(format!("or set {} in the environment", found.variable)));
        return Ok(None);
    }
    desk.note(Note::info(format!("Saved {} in the keyring", found.variable)));
    Ok(Some(model.to_owned()))
}

/// Only where there is no configuration yet: a file of the person's is not rewritten.
fn keep_choice(talk: &Talk, model: &str) {
    use std::io::Write;
    let kept = locations::user_config().and_then(|path| {
        let mut file = write_first(&path).ok()?;
        writeln!(file, "model = \"{model}\"").ok()?;
        Some(path)
    });
    let note = match kept {
        Some(path) => Note::info(format!("Using {model} from now on ({})", path.display())),
        None => Note::info(format!("Using {model} in this session"))
            .hint(format!("to keep it: `model = \"{model}\"` in the configuration")),
    };
    talk.desk.note(note);
}
