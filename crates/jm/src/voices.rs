//! Which model answers: from a name, the environment and the user's table to a voice.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jm_providers::{Catalogue, Client, Recorder, Script, Settings, script_file};
use jm_types::StreamError;
use jm_workspace::state::{read_text, write_new};

use crate::cli::{Model, ToolProtocol};
use crate::locations;

/// A table of models or a script that is larger than this is none.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The model that the flags name.
pub(crate) async fn open(model: &Model) -> Result<Client> {
    let client = find(model).await?;
    Ok(match model.tool_protocol {
        ToolProtocol::Native => client,
        ToolProtocol::Fenced => client.with_fenced_tools(),
    })
}

async fn find(model: &Model) -> Result<Client> {
    let settings = settings(model)?;
    let Some(name) = &model.model else {
        bail!(
            "which model shall answer?\n  hint: --model PROVIDER/NAME or JM_MODEL, for instance \
             --model anthropic/claude-sonnet-4-5; `jm demo` needs none"
        )
    };
    match script_file(name) {
        Some(file) => {
            let text = read(Path::new(file))?
                .with_context(|| format!("script {file}: there is no such file"))?;
            let script = Script::parse(&text).map_err(told)?;
            Client::scripted(script, &settings).await.map_err(told)
        }
        None => Client::open(name, &settings).map_err(told),
    }
}

fn settings(model: &Model) -> Result<Settings> {
    let mut settings = Settings::new(environment()).map_err(told)?;
    if let Some(catalogue) = catalogue(settings.catalogue.clone())? {
        settings.catalogue = catalogue;
    }
    if let Some(path) = &model.record {
        let file = write_new(path).with_context(|| format!("recording {}", path.display()))?;
        settings.recorder = Some(Recorder::new(file));
    }
    Ok(settings)
}

/// Keys and addresses; read once, here.
fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

/// The user's own models come on top of those that the program knows.
fn catalogue(embedded: Catalogue) -> Result<Option<Catalogue>> {
    let Some(path) = locations::user_models() else { return Ok(None) };
    let Some(text) = read(&path)? else { return Ok(None) };
    let extended = embedded.extended(&text);
    extended.map(Some).with_context(|| format!("models {}", path.display()))
}

fn read(path: &Path) -> Result<Option<String>> {
    read_text(path, MOST_BYTES).with_context(|| path.display().to_string())
}

/// A voice's error with what to do about it.
pub(crate) fn told(error: StreamError) -> anyhow::Error {
    match &error.hint {
        Some(hint) => anyhow::anyhow!("{error}\n  hint: {hint}"),
        None => anyhow::anyhow!("{error}"),
    }
}
