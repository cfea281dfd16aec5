//! `jm mcp`: servers of tools, configured, listed, tried and called.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jm_config::{Config, ConfigLayer, Source, Trust, check_server_name};
use jm_mcp::client::{ConnectionState, ServerInfo};
use jm_system::state::{StateDir, read_text};
use jm_types::text::{one_line, suggest};
use serde_json::json;

use super::{call, exit, print, serve};
use crate::cli::{CallArgs, Common, Mcp, McpAdd, McpCommand};
use crate::mcp::{self, Elicitor, Probing, Server, ServerOrigin};
use crate::{locations, wire};

const MOST_CONFIG_BYTES: u64 = 1024 * 1024;

pub(crate) fn run(common: &Common, mcp: &Mcp) -> Result<u8> {
    match &mcp.command {
        McpCommand::Add(server) => add(common, server),
        McpCommand::List(listing) => list(common, listing.json),
        McpCommand::Test { name, json } => test(common, name, *json),
        McpCommand::Call { name, tool, args, json } => {
            let tool = format!("{name}__{}", tool.replace('.', "_"));
            let args = CallArgs { tool, args: args.clone(), json: *json, preview: false };
            call::run(common, &args)
        }
        McpCommand::Serve(serve) => serve::run(common, serve),
        McpCommand::Remove { name } => remove(common, name),
    }
}

fn list(common: &Common, as_json: bool) -> Result<u8> {
    let wire::Settings { loaded, project } = wire::settings(common)?;
    let servers = mcp::servers(&loaded.config, project.as_ref())?;
    if as_json {
        let all: Vec<_> = servers.iter().map(as_value).collect();
        print::json(&all)?;
        return Ok(exit::RAN);
    }
    if let Some(project) = project.filter(|project| project.trusted.is_none())
        && project.root.join(mcp::PROJECT_FILE).exists()
    {
        print::note(&format!(
            "jm: note: {} is ignored: the project is not trusted (read it, then `jm trust`)",
            mcp::PROJECT_FILE
        ));
    }
    for server in &servers {
        let entry = &server.entry;
        let writes = match entry.writable.join(", ") {
            none if none.is_empty() => String::new(),
            paths => format!(", writes {paths}"),
        };
        let (name, place) = (&server.name, one_line(&server.place()));
        let (network, origin) = (entry.network.in_words(), origin(server));
        print::line(&format!("{name:<16} {place} (network {network}{writes}{origin})"))?;
    }
    Ok(exit::RAN)
}

fn origin(server: &Server) -> &'static str {
    match server.origin {
        ServerOrigin::Configuration => "",
        ServerOrigin::ProjectFile => ", from .mcp.json",
    }
}

fn as_value(server: &Server) -> serde_json::Value {
    let from = match server.origin {
        ServerOrigin::Configuration => "configuration",
        ServerOrigin::ProjectFile => mcp::PROJECT_FILE,
    };
    // Values of variables and headers may be secrets.
    json!({
        "name": server.name, "command": server.entry.command, "url": server.entry.url,
        "network": server.entry.network, "readable": server.entry.readable,
        "writable": server.entry.writable,
        "env": server.entry.env, "read_only": server.entry.read_only, "from": from,
    })
}

fn test(common: &Common, name: &str, as_json: bool) -> Result<u8> {
    let wire::Settings { loaded, project } = wire::settings(common)?;
    let servers = mcp::servers(&loaded.config, project.as_ref())?;
    let Some(server) = servers.iter().find(|server| server.name == name) else {
        return Err(unknown(name, &servers));
    };
    let unrecorded = Common { no_journal: true, ..common.clone() };
    let workspace = wire::workspace(&unrecorded, &loaded.config)?;
    let elicitor = Arc::new(Elicitor::default());
    let source = mcp::source(
        &loaded.config,
        &workspace,
        project.as_ref(),
        &elicitor,
        (Duration::from_secs(server.entry.start_seconds), Probing::Anew),
    )?;
    let state = source.as_ref().and_then(|source| source.state_of(name));
    let log = server.log().filter(|log| log.exists()).map(|log| log.display().to_string());
    match state {
        Some(ConnectionState::Ready(info)) => {
            if as_json {
                print::json(&ready_value(&info, log))?
            } else {
                show(name, &info, log)?
            }
            Ok(exit::RAN)
        }
        Some(ConnectionState::Failed(why) | ConnectionState::Ended(why)) => {
            print::note(&format!("jm: server {name}: {}", one_line(&why)));
            log.iter().for_each(|log| print::note(&format!("  hint: its standard error: {log}")));
            Ok(exit::FAILED)
        }
        Some(ConnectionState::Idle | ConnectionState::Starting) | None => {
            print::note(&format!("jm: server {name}: it is still starting"));
            Ok(exit::FAILED)
        }
    }
}

fn ready_value(info: &ServerInfo, log: Option<String>) -> serde_json::Value {
    let tools: Vec<&str> = info.tools.iter().map(|tool| tool.name.as_str()).collect();
    let skipped: Vec<_> =
        info.skipped.iter().map(|tool| json!({"name": tool.name, "why": tool.why})).collect();
    json!({
        "title": info.title, "era": info.era.word(), "revision": info.revision,
        "tools": tools, "skipped": skipped, "log": log,
    })
}

fn show(name: &str, info: &ServerInfo, log: Option<String>) -> Result<()> {
    let ServerInfo { title, era, revision, .. } = info;
    print::line(&format!("{name}: {title}, speaks {revision} ({})", era.word()))?;
    for tool in &info.tools {
        let sentence = tool.description.split(". ").next().unwrap_or_default();
        print::line(&format!("  {:<24} {}", tool.name, one_line(sentence)))?;
    }
    for tool in &info.skipped {
        print::line(&format!("  {:<24} skipped: {}", tool.name, tool.why))?;
    }
    log.iter().try_for_each(|log| print::line(&format!("  standard error: {log}")))
}

fn unknown(name: &str, servers: &[Server]) -> anyhow::Error {
    let names = servers.iter().map(|server| server.name.as_str());
    let near = suggest(name, names, 1);
    let hint = near.first().map(|near| format!("did you mean `{near}`?"));
    let hint = hint.unwrap_or_else(|| "`jm mcp list` shows the servers".to_owned());
    anyhow!("unknown server `{}`\n  hint: {hint}", one_line(name))
}

/// The file that `add` and `remove` change.
struct UserConfig {
    folder: StateDir,
    name: String,
    text: String,
}

impl UserConfig {
    fn open(common: &Common) -> Result<Self> {
        let path = common.config.clone().or_else(locations::user_config);
        let path = path.context("no configuration directory; set HOME")?;
        let path = std::path::absolute(path)?;
        if path.is_symlink() {
            bail!("{} is a symbolic link; edit its target", path.display());
        }
        let folder = path.parent().context("the configuration has no directory")?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.context("the configuration's name is not UTF-8")?.to_owned();
        let text = read_text(&path, MOST_CONFIG_BYTES)
            .with_context(|| path.display().to_string())?
            .unwrap_or_default();
        Ok(Self { folder: open_folder(folder)?, name, text })
    }

    /// Only what can be read again is written.
    fn write(&self, text: String) -> Result<()> {
        let source = Source::User(self.folder.path().join(&self.name));
        jm_config::load(&[ConfigLayer { source, text: text.clone() }], &[], Trust::Trusted)
            .map_err(|errors| {
                anyhow!("{}", errors.first().map_or_else(String::new, ToString::to_string))
            })?;
        self.folder.write(&self.name, text.as_bytes()).context("the configuration")
    }

    fn servers(&self) -> Result<Config> {
        let source = Source::User(self.folder.path().join(&self.name));
        let layer = ConfigLayer { source, text: self.text.clone() };
        let loaded = jm_config::load(&[layer], &[], Trust::Trusted);
        loaded.map(|loaded| loaded.config).map_err(|errors| {
            anyhow!("{}", errors.first().map_or_else(String::new, ToString::to_string))
        })
    }
}

fn open_folder(folder: &Path) -> Result<StateDir> {
    StateDir::open(folder).with_context(|| folder.display().to_string())
}

fn add(common: &Common, server: &McpAdd) -> Result<u8> {
    let name = &server.name;
    check_server_name(name).map_err(|why| anyhow!("`{}`: {why}", one_line(name)))?;
    let file = UserConfig::open(common)?;
    if file.servers()?.mcp.contains_key(name) {
        bail!("server `{name}` already exists\n  hint: run `jm mcp remove {name}` first");
    }
    let mut text = file.text.clone();
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&table(server)?);
    file.write(text)?;
    print::line(&format!("Added {name}. Try it: `jm mcp test {name}`"))?;
    Ok(exit::RAN)
}

/// The table as it is written; JSON's strings and lists are TOML's.
fn table(server: &McpAdd) -> Result<String> {
    let mut lines = vec![format!("[mcp.{}]", server.name)];
    match server.command.as_slice() {
        [url] if url.starts_with("http://") || url.starts_with("https://") => {
            lines.push(format!("url = {}", serde_json::to_string(url)?));
        }
        words => lines.push(format!("command = {}", serde_json::to_string(words)?)),
    }
    match server.reach.as_slice() {
        [] => {}
        [word] if word == "on" => lines.push("network = \"on\"".to_owned()),
        hosts => lines.push(format!("network = {}", serde_json::to_string(hosts)?)),
    }
    for (key, list) in [("env", &server.env), ("read_only", &server.read_only)] {
        if !list.is_empty() {
            lines.push(format!("{key} = {}", serde_json::to_string(list)?));
        }
    }
    for (key, paths) in [("readable", &server.read), ("writable", &server.write)] {
        if !paths.is_empty() {
            lines.push(format!("{key} = {}", serde_json::to_string(paths)?));
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn remove(common: &Common, name: &str) -> Result<u8> {
    let file = UserConfig::open(common)?;
    if !file.servers()?.mcp.contains_key(name) {
        bail!("your configuration has no server `{}`", one_line(name));
    }
    let text = without_table(&file.text, name);
    let changed = UserConfig { text, ..file };
    if changed.servers()?.mcp.contains_key(name) {
        let place = changed.folder.path().join(&changed.name);
        bail!(
            "the server is not defined as a table [mcp.{name}]; remove it by hand in {}",
            place.display()
        );
    }
    changed.write(changed.text.clone())?;
    print::line(&format!("Removed {name}"))?;
    Ok(exit::RAN)
}

/// The text without the table of a server and the tables in it.
fn without_table(text: &str, name: &str) -> String {
    let mut kept = String::new();
    let mut is_inside = false;
    for line in text.split_inclusive('\n') {
        let header = line.trim();
        if header.starts_with('[') {
            let path = header.trim_start_matches('[').split(']').next().unwrap_or_default();
            let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
            let own = format!("mcp.{name}");
            is_inside = path == own || path.starts_with(&format!("{own}."));
        }
        if !is_inside {
            kept.push_str(line);
        }
    }
    let trimmed = kept.trim_end();
    if trimmed.is_empty() { String::new() } else { format!("{trimmed}\n") }
}
