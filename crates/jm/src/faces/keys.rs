//! `jm keys`: the vendors' keys in the system's keyring.
//!
//! Law: a key is never printed, and never an argument.

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result, bail};
use jm_system::keyring::Keyring;
use jm_system::terminal::Terminal;
use jm_types::text::one_line;
use serde_json::json;

use super::{exit, print};
use crate::cli::{Keys, KeysCommand};
use crate::model_client;

/// Providers that need a key; others are asked for by name.
pub(super) const PROVIDERS: &[&str] = &["anthropic", "openai", "gemini", "vertex", "openrouter"];
const MOST_BYTES: u64 = 16 * 1024;

pub(crate) fn run(keys: &Keys) -> Result<u8> {
    match &keys.command {
        None => list(keys.json),
        Some(KeysCommand::List(listing)) => list(keys.json || listing.json),
        Some(KeysCommand::Set { provider }) => set(provider),
        Some(KeysCommand::Remove { provider }) => remove(provider),
    }
}

/// The source of each provider's key.
fn list(as_json: bool) -> Result<u8> {
    let (mut rows, mut silent) = (Vec::new(), None);
    for provider in PROVIDERS {
        let (found, error) = model_client::key_of(provider)?;
        rows.push((provider, found));
        silent = silent.or(error);
    }
    if as_json {
        let row = |(provider, found): &(&&str, model_client::KeyFound)| json!({"provider": provider, "variable": found.variable, "from": found.from.word()});
        print::json(&rows.iter().map(row).collect::<Vec<_>>())?;
        return Ok(exit::RAN);
    }
    for (provider, found) in &rows {
        print::line(&format!("{provider:<12} {:<22} {}", found.variable, found.from.word()))?;
    }
    match (keyring(), silent) {
        (Err(error), _) => print::error(&error),
        (Ok(_), Some(error)) => print::note(&format!("jm: cannot query the keyring: {error}")),
        (Ok(_), None) => {}
    }
    Ok(exit::RAN)
}

fn set(provider: &str) -> Result<u8> {
    let variable = variable(provider)?;
    let keyring = keyring()?;
    let key = typed(&variable)?;
    keyring.set(&variable, &key).context("the keyring refused the key")?;
    print::line(&format!("Saved {variable} in the keyring"))?;
    Ok(exit::RAN)
}

fn remove(provider: &str) -> Result<u8> {
    let variable = variable(provider)?;
    keyring()?.remove(&variable).context("the keyring could not remove the key")?;
    print::line(&format!("{variable} is not in the keyring"))?;
    Ok(exit::RAN)
}

fn keyring() -> Result<Keyring> {
    Keyring::find().context(
        "this system has no keyring that jm can use\n  hint: install `secret-tool` (Debian: \
         libsecret-tools), or set the key in the environment",
    )
}

/// A provider's first variable is the name of its key.
fn variable(provider: &str) -> Result<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if provider.is_empty() || !provider.chars().all(is_name) {
        bail!("`{}` is not a provider name", one_line(provider));
    }
    model_client::key_variables(provider)?.into_iter().next().context("this provider needs no key")
}

/// From standard input, or from the terminal without an echo.
fn typed(variable: &str) -> Result<String> {
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        print::note(&format!("{variable}: type or paste the key, then Enter; it is not shown"));
        let mut terminal = Terminal::open()
            .context("no terminal to read the key from; pipe it: `jm keys set PROVIDER < FILE`")?;
        key = terminal.secret()?.unwrap_or_default();
    } else {
        let mut input = std::io::stdin().take(MOST_BYTES);
        input.read_to_string(&mut key).context("standard input is not text")?;
    }
    let key = key.trim();
    if key.is_empty() || key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        bail!("not a key: expected one word on one line\n  hint: jm keys set PROVIDER < FILE");
    }
    Ok(key.to_owned())
}
