//! A project's `.mcp.json`, in the form that other agents read too.
//!
//! Law: it counts only when the project is trusted with these bytes; before that it is at most shown. It names
//! programs and addresses, and grants nothing: network and writing come from the person's own configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jm_config::{ServerEntry, Servers, check_server_name};
use jm_tools::quote::quote_words;
use jm_types::Digest;
use serde::Deserialize;

use crate::locations;
use crate::project::Project;

/// Its path from the root of the project.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Deserialize)]
struct File {
    #[serde(rename = "mcpServers", default)]
    servers: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// The servers of a trusted project.
pub(super) fn read(project: &Project) -> Result<Servers> {
    let path = project.root.join(PROJECT_FILE);
    let text = jm_system::state::read_text(&path, MOST_BYTES);
    let Some(text) = text.with_context(|| path.display().to_string())? else {
        return Ok(Servers::new());
    };
    let trusted = project.trusted.as_ref().and_then(|files| files.get(&trusted_name()));
    if trusted != Some(&Digest::of(text.as_bytes())) {
        bail!("{} changed since it was trusted; read it, then `jm trust`", path.display());
    }
    let file: File = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
    file.servers.into_iter().map(|(name, entry)| server(name, entry)).collect()
}

/// The commands and addresses of the servers in the file, as they are written there.
pub(crate) fn described(root: &Path) -> Result<Vec<String>> {
    let path = root.join(PROJECT_FILE);
    let text = jm_system::state::read_text(&path, MOST_BYTES);
    let Some(text) = text.with_context(|| path.display().to_string())? else {
        return Ok(Vec::new());
    };
    let file: File = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
    let described = |(name, entry): (String, Entry)| match entry.url.is_empty() {
        true => format!("{name}: {}", quote_words(&[vec![entry.command], entry.args].concat())),
        false => format!("{name}: {}", entry.url),
    };
    Ok(file.servers.into_iter().map(described).collect())
}

/// Its name among the files that trust is bound to, which are named from the tools' directory.
pub(crate) fn trusted_name() -> PathBuf {
    PathBuf::from("../..").join(PROJECT_FILE)
}

fn server(name: String, entry: Entry) -> Result<(String, ServerEntry)> {
    check_server_name(&name).map_err(|why| {
        anyhow::anyhow!("{PROJECT_FILE}: `{}`: {why}", jm_types::text::one_line(&name))
    })?;
    let Entry { command, args, env, url, headers } = entry;
    let words = |words: Vec<String>| words.iter().map(|word| expanded(word)).collect();
    let values = |values: BTreeMap<String, String>| {
        values.into_iter().map(|(name, value)| (name, expanded(&value))).collect()
    };
    let command = if command.is_empty() { Vec::new() } else { [vec![command], args].concat() };
    let entry = ServerEntry {
        command: words(command),
        url: expanded(&url),
        headers: values(headers),
        variables: values(env),
        ..ServerEntry::default()
    };
    Ok((name, entry))
}

/// A project's server with the person's grants.
pub(super) fn under(own: &ServerEntry, theirs: ServerEntry) -> ServerEntry {
    let ServerEntry { command, url, headers, variables, .. } = theirs;
    let variables = variables.into_iter().chain(own.variables.clone()).collect();
    let headers = headers.into_iter().chain(own.headers.clone()).collect();
    ServerEntry { command, url, headers, variables, ..own.clone() }
}

/// Puts variables in the place of `${NAME}` and `${NAME:-DEFAULT}`; one that is not set is empty.
pub(super) fn expanded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, tail)) = after.split_once('}') else { break };
        let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
        out.push_str(before);
        let value = locations::named(name).map(|value| value.to_string_lossy().into_owned());
        out.push_str(value.as_deref().unwrap_or(default));
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_their_places() {
        let path = std::env::var("PATH").unwrap();
        for (text, expected) in [
            ("plain", "plain".to_owned()),
            ("${PATH}!", format!("{path}!")),
            ("a ${JM_NOT_THERE:-b} c", "a b c".to_owned()),
            ("${JM_NOT_THERE}", String::new()),
            ("${unclosed", "${unclosed".to_owned()),
            ("$PATH", "$PATH".to_owned()),
        ] {
            assert_eq!(expanded(text), expected, "{text}");
        }
    }
}
