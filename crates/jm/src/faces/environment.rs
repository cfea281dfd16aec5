//! Checks of `jm doctor` beside the sandbox: model, key, git, terminal, journal, disk.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Result;
use jm_tui::block::numbers::{bytes, plural};
use jm_types::text::one_line;
use serde_json::{Value, json};

use super::disk_usage::Room;
use super::history;
use crate::cli::{Common, Model};
use crate::model_client::{self, KeySource};
use crate::sessions;

/// Terminals smaller than this hide parts of a question.
const FEWEST_COLUMNS: usize = 40;
const FEWEST_ROWS: usize = 12;
/// Providers that answer without a key.
const KEYLESS: &[&str] = &["ollama", "lmstudio"];

/// One thing that was looked at; `remedy` where something is to be done.
pub(super) struct Check {
    name: &'static str,
    detail: String,
    remedy: Option<String>,
}

impl Check {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, detail: detail.into(), remedy: None }
    }

    fn bad(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn as_json(&self) -> Value {
        json!({"name": self.name, "ok": self.remedy.is_none(), "detail": self.detail, "remedy": self.remedy})
    }

    pub(super) fn in_words(&self) -> String {
        let (name, detail) = (self.name, one_line(&self.detail));
        match &self.remedy {
            None => format!("  ok    {name:<9} {detail}\n"),
            Some(remedy) => {
                format!("  check {name:<9} {detail}\n        hint: {}\n", one_line(remedy))
            }
        }
    }
}

pub(super) fn checks(common: &Common, room: &Result<Room>) -> Vec<Check> {
    let model = model_client::chosen_name(common, &Model::default());
    let model = model.unwrap_or_default();
    vec![
        check_model(&model),
        check_key(&model),
        check_git(),
        check_terminal(),
        check_journal(common),
        check_disk(room),
    ]
}

fn check_model(model: &str) -> Check {
    match model {
        "" => Check::bad(
            "model",
            "none configured",
            "set one: --model PROVIDER/NAME, JM_MODEL, or `model` in the configuration (list: `jm models`)",
        ),
        name => Check::good("model", name),
    }
}

fn check_key(model: &str) -> Check {
    let model = model.strip_prefix("fenced:").unwrap_or(model);
    let known = model_client::known().ok();
    let full = known.as_ref().and_then(|known| known.alias(model)).unwrap_or(model);
    let Some((provider, _)) = full.split_once('/') else {
        return Check::good("key", "no provider chosen (list: `jm keys`)");
    };
    if KEYLESS.contains(&provider) || full.starts_with("script:") {
        return Check::good("key", "not needed");
    }
    match model_client::key_of(provider) {
        Err(error) => Check::bad("key", format!("{error:#}"), "check the name of the provider"),
        Ok((found, silent)) => match found.from {
            KeySource::Environment | KeySource::Keyring => {
                Check::good("key", format!("{} ({})", found.variable, found.from.word()))
            }
            KeySource::Nowhere => {
                let why = silent.map(|error| format!("; the keyring failed: {error}"));
                let detail = format!("{} is not set{}", found.variable, why.unwrap_or_default());
                let remedy = format!("set {}, or `jm keys set {provider}`", found.variable);
                Check::bad("key", detail, remedy)
            }
        },
    }
}

fn check_git() -> Check {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git"));
    match found.into_iter().find(|file: &PathBuf| file.is_file()) {
        Some(git) => Check::good("git", git.display().to_string()),
        None => Check::bad("git", "not found in PATH", "install git; jm works without it"),
    }
}

fn check_terminal() -> Check {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if !std::io::stdout().is_terminal() {
        return Check::good("terminal", "output is not a terminal");
    }
    let kind = variable("TERM").unwrap_or_default();
    let (columns, rows) = jm_tui::terminal::modes::size();
    let locale = variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
    let locale = locale.unwrap_or_else(|| "C".to_owned());
    let detail = format!("{kind}, {columns}x{rows}, {locale}");
    let is_unicode = locale.to_lowercase().replace('-', "").contains("utf8");
    if kind.is_empty() || kind == "dumb" {
        Check::bad("terminal", detail, "only whole lines are shown; set TERM for the full screen")
    } else if columns < FEWEST_COLUMNS || rows < FEWEST_ROWS {
        let remedy = format!("enlarge it to at least {FEWEST_COLUMNS}x{FEWEST_ROWS}");
        Check::bad("terminal", detail, remedy)
    } else if !is_unicode {
        Check::bad("terminal", detail, "use a UTF-8 locale, such as LANG=C.UTF-8")
    } else {
        Check::good("terminal", detail)
    }
}

fn check_journal(common: &Common) -> Check {
    match interrupted(common) {
        Err(error) => {
            Check::bad("journal", format!("{error:#}"), "look for damage with `jm verify`")
        }
        Ok((all, 0)) => Check::good("journal", plural(all, "session")),
        Ok((all, open)) => {
            let detail = format!("{}, {open} interrupted by a crash", plural(all, "session"));
            Check::bad("journal", detail, "resolve them with `jm recover`")
        }
    }
}

/// All sessions, and those of this project that a crash interrupted.
fn interrupted(common: &Common) -> Result<(usize, usize)> {
    let store = sessions::store()?;
    let all = store.sessions().map_err(sessions::told)?.len();
    let root = history::root(common)?;
    let is_dead = |view: &jm_store::SessionView| {
        !view.owner.as_ref().is_some_and(|owner| sessions::identity(owner).is_alive())
    };
    let open = store.unsettled().map_err(sessions::told)?;
    Ok((all, open.iter().filter(|view| view.root == root && is_dead(view)).count()))
}

fn check_disk(room: &Result<Room>) -> Check {
    match room {
        Err(error) => {
            Check::bad("disk", format!("{error:#}"), "set JM_STATE_DIR to a writable directory")
        }
        Ok(room) => {
            let (free, stored, most) = (bytes(room.free), bytes(room.stored), bytes(room.most));
            let detail = format!("{free} free; {stored} of {most} used by the journal");
            match room.warnings().into_iter().next() {
                Some(warning) => Check::bad("disk", detail, warning),
                None => Check::good("disk", detail),
            }
        }
    }
}
