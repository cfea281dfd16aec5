//! Which model answers: from a name, the environment and the user's table to a model client.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jm_providers::{Catalogue, ClientSettings, LOCAL_PROVIDERS, ModelClient, TrafficRecorder};
use jm_script::{Script, ScriptedModel, script_file};
use jm_system::keyring::Keyring;
use jm_system::state::{read_text, write_new};
use jm_types::text::{one_line, suggest};
use jm_types::{StreamError, StreamErrorKind};

use crate::cli::{Common, Model, ToolProtocol};
use crate::faces::history;
use crate::{locations, sessions, wire};

/// A table of models or a script that is larger than this is none.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The model that the flags or the configuration name.
pub(crate) async fn open(common: &Common, model: &Model) -> Result<ModelClient> {
    let client = find(common, model).await?;
    let client = match &model.record {
        // Not before there is somebody to record: an empty file would be in the way the next time.
        Some(path) => client.recorded_by(recorder(path)?),
        None => client,
    };
    Ok(match model.tool_protocol {
        ToolProtocol::Native => client,
        ToolProtocol::Fenced => client.with_fenced_tools(),
    })
}

async fn find(common: &Common, model: &Model) -> Result<ModelClient> {
    let settings = settings()?;
    let name = chosen_name(common, model)?;
    if name.is_empty() {
        bail!(
            "No model configured. Set one: --model PROVIDER/NAME\n  hint: or set JM_MODEL, or `model` in the configuration (list: `jm models`; try without one: `jm demo`)"
        )
    }
    let name = settings.catalogue.alias(&name).map_or(name.clone(), str::to_owned);
    let fenced = name.strip_prefix("fenced:").and_then(script_file);
    match (script_file(&name), fenced) {
        (Some(file), _) => scripted(file, &settings).await,
        (None, Some(file)) => scripted(file, &settings).await.map(ModelClient::with_fenced_tools),
        (None, None) => {
            let names = settings.catalogue.names();
            with_key(&name, settings).map_err(|error| nearest(error, &name, &names))
        }
    }
}

/// The name of the model: as the flags say, the one of the session that goes on, the configuration's, or the one that
/// answered last in this project. A script is no model to be remembered for others.
pub(crate) fn chosen_name(common: &Common, model: &Model) -> Result<String> {
    if let Some(name) = &model.model {
        return Ok(name.trim().to_owned());
    }
    let store = if common.no_journal { None } else { sessions::store().ok() };
    if let (Some(store), Some(session)) = (&store, &common.session)
        && let Some(name) = store.session_facts(session).map_err(sessions::told)?.model
    {
        return Ok(name);
    }
    let configured = wire::load(common)?.config.model;
    if !configured.is_empty() {
        return Ok(configured);
    }
    let Some(store) = store else { return Ok(String::new()) };
    let root = history::root(common)?;
    let is_model = |name: &str| !name.contains("script:");
    let last = store.last_model(&root, is_model).map_err(sessions::told)?;
    Ok(last.unwrap_or_default())
}

/// The models that are known: the program's own and the user's.
pub(crate) fn known() -> Result<Catalogue> {
    Ok(settings()?.catalogue)
}

/// Adds the known name that a misspelt one looks like.
fn nearest(error: anyhow::Error, name: &str, names: &[String]) -> anyhow::Error {
    let provider = name.split_once('/').map_or("", |(provider, _)| provider);
    let is_known = names.iter().any(|known| known.starts_with(&format!("{provider}/")));
    match suggest(name, names.iter().map(String::as_str), 1).first() {
        Some(near) if !is_known => {
            anyhow::anyhow!("{error:#}\n  hint: did you mean `{near}`?")
        }
        Some(_) | None => error,
    }
}

async fn scripted(file: &str, settings: &ClientSettings) -> Result<ModelClient> {
    let text = read(Path::new(file))?.with_context(|| format!("script {file}: no such file"))?;
    let script = Script::parse(&text).map_err(told)?;
    Ok(ScriptedModel::start(script, settings).await.map_err(told)?.client)
}

/// Asks the system's keyring where the environment has no key.
fn with_key(name: &str, mut settings: ClientSettings) -> Result<ModelClient> {
    let without = ModelClient::open(name, &settings);
    let asks = match &without {
        Ok(client) => client.lacks_key(),
        Err(error) => error.kind == StreamErrorKind::Authentication,
    };
    if !asks {
        return without.map_err(told);
    }
    match kept_key(name, &settings) {
        Ok(None) => without.map_err(told),
        Ok(Some((variable, key))) => {
            settings.environment.insert(variable, key);
            ModelClient::open(name, &settings).map_err(told)
        }
        Err(silent) => without.map_err(|error| {
            let why = one_line(&silent.to_string());
            let (kind, text) = (error.kind.clone(), told(error).to_string());
            let text = format!("{text}\n  cannot query the keyring: {why}");
            anyhow::Error::new(ModelFault { kind, text })
        }),
    }
}

fn settings() -> Result<ClientSettings> {
    let mut settings = ClientSettings::new(environment()).map_err(told)?;
    if let Some(catalogue) = catalogue(settings.catalogue.clone())? {
        settings.catalogue = catalogue;
    }
    Ok(settings)
}

/// `PROVIDER/NAME` of every model that the table knows.
pub(crate) fn known_models() -> Result<Vec<String>> {
    Ok(settings()?.catalogue.names())
}

/// The models that servers on this machine offer now, with the servers that did not answer.
pub(crate) async fn local_models() -> Result<(Vec<String>, Vec<&'static str>)> {
    let settings = settings()?;
    let (mut models, mut silent) = (Vec::new(), Vec::new());
    for (provider, label) in LOCAL_PROVIDERS {
        match jm_providers::served_models(provider, &settings).await {
            Ok(served) => models.extend(served),
            Err(_) => silent.push(*label),
        }
    }
    Ok((models, silent))
}

fn recorder(path: &Path) -> Result<TrafficRecorder> {
    let file = write_new(path).with_context(|| format!("recording {}", path.display()))?;
    Ok(TrafficRecorder::new(file))
}

/// The source of a provider's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySource {
    Environment,
    Keyring,
    Nowhere,
}

pub(crate) struct KeyFound {
    pub(crate) variable: String,
    pub(crate) from: KeySource,
}

impl KeySource {
    pub(crate) fn word(self) -> &'static str {
        match self {
            KeySource::Environment => "environment",
            KeySource::Keyring => "keyring",
            KeySource::Nowhere => "not set",
        }
    }
}

/// The variables that may hold a provider's key; each is also a name in the keyring.
pub(crate) fn key_variables(provider: &str) -> Result<Vec<String>> {
    let settings = ClientSettings::new(BTreeMap::new()).map_err(told)?;
    Ok(jm_providers::key_variables(&format!("{provider}/"), &settings.catalogue))
}

/// The source of a provider's key; the second is why the keyring could not be asked.
pub(crate) fn key_of(provider: &str) -> Result<(KeyFound, Option<std::io::Error>)> {
    let settings = ClientSettings::new(environment()).map_err(told)?;
    let model = format!("{provider}/");
    let variables = jm_providers::key_variables(&model, &settings.catalogue);
    let given = variables.iter().find(|variable| is_given(variable, &settings));
    let first = variables.first().cloned().unwrap_or_default();
    let found = |variable, from| KeyFound { variable, from };
    if let Some(variable) = given {
        return Ok((found(variable.clone(), KeySource::Environment), None));
    }
    Ok(match kept_key(&model, &settings) {
        Ok(Some((variable, _))) => (found(variable, KeySource::Keyring), None),
        Ok(None) => (found(first, KeySource::Nowhere), None),
        Err(error) => (found(first, KeySource::Nowhere), Some(error)),
    })
}

fn is_given(variable: &str, settings: &ClientSettings) -> bool {
    settings.environment.get(variable).is_some_and(|value| !value.is_empty())
}

/// A key of the system's keyring, with the variable that it stands for.
fn kept_key(model: &str, settings: &ClientSettings) -> std::io::Result<Option<(String, String)>> {
    let Some(keyring) = Keyring::find() else { return Ok(None) };
    for variable in jm_providers::key_variables(model, &settings.catalogue) {
        if let Some(key) = keyring.get(&variable)? {
            return Ok(Some((variable, key)));
        }
    }
    Ok(None)
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

/// A model that cannot be opened: what is wrong, and what to do about it.
#[derive(Debug)]
pub(crate) struct ModelFault {
    kind: StreamErrorKind,
    text: String,
}

impl ModelFault {
    /// Tells if a key would help.
    pub(crate) fn lacks_key(&self) -> bool {
        self.kind == StreamErrorKind::Authentication
    }
}

impl std::fmt::Display for ModelFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ModelFault {}

/// A model client's error with what to do about it.
pub(crate) fn told(error: StreamError) -> anyhow::Error {
    let text = match &error.hint {
        Some(hint) => format!("{error}\n  hint: {hint}"),
        None => error.to_string(),
    };
    anyhow::Error::new(ModelFault { kind: error.kind, text })
}
