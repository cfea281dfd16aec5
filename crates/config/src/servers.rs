//! Servers of tools that speak MCP: a table a server, under its name.
//!
//! Law: a server of a higher layer replaces one of the same name whole. An untrusted project brings none.

use std::collections::BTreeMap;

use jm_types::{Network, defaults};
use serde::Serialize;
use toml::de::DeValue;

use crate::check::{self, unexpected};
use crate::nearest::{did_you_mean, nearest};
use crate::network;
use crate::origin::{LoadReport, shown};
use crate::text::Setting;

/// The longest name of a server, so that names of tools keep within what vendors take.
const MOST_NAME: usize = 32;
const MOST_SECONDS: u64 = 24 * 60 * 60;
const FIELDS: [&str; 13] = [
    "command",
    "args",
    "url",
    "headers",
    "env",
    "variables",
    "network",
    "readable",
    "writable",
    "read_only",
    "start_seconds",
    "call_seconds",
    "enabled",
];

/// One server of tools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerEntry {
    /// The program and its arguments; empty for a server that is reached by `url`.
    pub command: Vec<String>,
    /// Empty for a server that is started.
    pub url: String,
    /// Headers of every request to `url`.
    pub headers: BTreeMap<String, String>,
    /// Names of variables that it inherits, also those that commands do not get.
    pub env: Vec<String>,
    /// Variables with their values.
    pub variables: BTreeMap<String, String>,
    /// The hosts that the confined server may reach.
    pub network: Network,
    /// Files and directories that it may read besides the workspace and the system's programs.
    pub readable: Vec<String>,
    /// Directories that it may write; `.` is the workspace.
    pub writable: Vec<String>,
    /// Tools of which the person says that they change nothing.
    pub read_only: Vec<String>,
    /// Seconds until a server that has not answered counts as failed.
    pub start_seconds: u64,
    /// Seconds for one call; the call fails then, the server stays.
    pub call_seconds: u64,
    /// False keeps the entry and starts nothing.
    pub enabled: bool,
}

impl Default for ServerEntry {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            url: String::new(),
            headers: BTreeMap::new(),
            env: Vec::new(),
            variables: BTreeMap::new(),
            network: Network::Off,
            readable: Vec::new(),
            writable: Vec::new(),
            read_only: Vec::new(),
            start_seconds: defaults::MCP_START_SECONDS,
            call_seconds: defaults::MCP_CALL_SECONDS,
            enabled: true,
        }
    }
}

/// Servers by their names.
pub type Servers = BTreeMap<String, ServerEntry>;

/// Says what is wrong with the name of a server.
pub fn check_server_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits = !name.is_empty() && name.len() <= MOST_NAME && name.chars().all(is_plain);
    // The first two underscores of a tool's name end the name of its server.
    if fits && !name.contains("__") && !name.ends_with('_') {
        return Ok(());
    }
    Err(format!(
        "a server name has at most {MOST_NAME} characters of A-Z a-z 0-9 _ -, without `__`"
    ))
}

pub(super) fn check(setting: &Setting<'_>, report: &mut LoadReport) -> Option<Servers> {
    let DeValue::Table(entries) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a table of servers", report);
    };
    let mut servers = Servers::new();
    let mut is_whole = true;
    for (name, value) in entries {
        let named = check_server_name(name.get_ref());
        if let Err(what) = &named {
            report.error(|| setting.error(name.span().start, what, None));
        }
        let inner = Setting {
            key: setting.key,
            name: format!("{}.{}", setting.name, shown(name.get_ref())),
            value: value.clone(),
            place: setting.place.at(name.span().start),
        };
        match (named, entry(&inner, report)) {
            (Ok(()), Some(entry)) => {
                servers.insert(name.get_ref().to_string(), entry);
            }
            _ => is_whole = false,
        }
    }
    is_whole.then_some(servers)
}

fn entry(setting: &Setting<'_>, report: &mut LoadReport) -> Option<ServerEntry> {
    let DeValue::Table(fields) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a table", report);
    };
    let mut entry = ServerEntry::default();
    let mut args = Vec::new();
    let mut is_whole = true;
    for (name, value) in fields {
        let field = name.get_ref().as_ref();
        let inner = Setting {
            key: setting.key,
            name: format!("{}.{}", setting.name, shown(field)),
            value: value.clone(),
            place: setting.place.at(name.span().start),
        };
        let seconds = |report: &mut LoadReport| check::number(&inner, 1, MOST_SECONDS, report);
        let read = match field {
            "command" => command(&inner, report).map(|found| entry.command = found),
            "args" => check::texts(&inner, &inner.value, report).map(|found| args = found),
            "url" => check::name(&inner, report).map(|found| entry.url = found),
            "headers" => texts_by_name(&inner, report).map(|found| entry.headers = found),
            "env" => check::list(&inner, 0, report).map(|found| entry.env = found),
            "variables" => texts_by_name(&inner, report).map(|found| entry.variables = found),
            "network" => network::check(&inner, report).map(|found| entry.network = found),
            "readable" => check::list(&inner, 0, report).map(|found| entry.readable = found),
            "writable" => check::list(&inner, 0, report).map(|found| entry.writable = found),
            "read_only" => check::list(&inner, 0, report).map(|found| entry.read_only = found),
            "start_seconds" => seconds(report).map(|found| entry.start_seconds = found),
            "call_seconds" => seconds(report).map(|found| entry.call_seconds = found),
            "enabled" => check::toggle(&inner, report).map(|found| entry.enabled = found),
            _ => {
                report.error(|| {
                    let hint = nearest(field, FIELDS).map(did_you_mean);
                    let what = format!("unknown key `{}`", shown(field));
                    setting.error(name.span().start, &what, hint)
                });
                None
            }
        };
        is_whole &= read.is_some();
    }
    entry.command.extend(args);
    if !entry.command.is_empty() && !entry.url.is_empty() {
        report.error(|| {
            let what = "a server has `command` or `url`, not both";
            setting.error(setting.value.span().start, what, None)
        });
        return None;
    }
    is_whole.then_some(entry)
}

/// A program, or a program with its arguments.
fn command(setting: &Setting<'_>, report: &mut LoadReport) -> Option<Vec<String>> {
    match setting.value.get_ref() {
        DeValue::String(_) => check::text(setting, &setting.value, report).map(|word| vec![word]),
        _ => check::texts(setting, &setting.value, report),
    }
}

fn texts_by_name(
    setting: &Setting<'_>,
    report: &mut LoadReport,
) -> Option<BTreeMap<String, String>> {
    let DeValue::Table(fields) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a table of strings", report);
    };
    let one = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        match value.get_ref() {
            DeValue::String(text) => Some((name.to_string(), text.to_string())),
            _ => unexpected(setting, value, "a string", report),
        }
    };
    let found: Vec<_> = fields.iter().map(one).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{loaded, project, user};
    use crate::{Trust, load};

    #[test]
    fn a_server_is_read_with_its_defaults() {
        let text = "[mcp.time]\ncommand = 'uvx'\nargs = ['mcp-server-time']\nnetwork = ['a.org']\n\
                    [mcp.far]\nurl = 'https://a.org/mcp'\ncall_seconds = 5\n";
        let servers = loaded(&[user(text)], &[], Trust::Untrusted).config.mcp;
        let time = &servers["time"];
        assert_eq!(time.command, ["uvx", "mcp-server-time"]);
        assert_eq!(time.network.in_words(), "only a.org");
        let far = ServerEntry {
            url: "https://a.org/mcp".to_owned(),
            call_seconds: 5,
            ..ServerEntry::default()
        };
        assert_eq!(servers["far"], far);
    }

    #[test]
    fn a_project_brings_servers_only_when_it_is_trusted() {
        let layers = [user("[mcp.a]\ncommand = 'a'"), project("[mcp.b]\ncommand = 'b'")];
        for (trust, names) in [(Trust::Untrusted, vec!["a"]), (Trust::Trusted, vec!["a", "b"])] {
            let servers = loaded(&layers, &[], trust).config.mcp;
            assert_eq!(servers.keys().collect::<Vec<_>>(), names, "{trust:?}");
        }
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for (text, said) in [
            ("mcp = 1", "expected a table of servers"),
            ("[mcp]\na = 1", "expected a table"),
            ("[mcp.a__b]\ncommand = 'x'", "without `__`"),
            ("[mcp.'a b']\ncommand = 'x'", "a server name has"),
            ("[mcp.a]\ncomand = 'x'", "unknown key `comand`"),
            ("[mcp.a]\ncommand = 'x'\nurl = 'y'", "`command` or `url`, not both"),
            ("[mcp.a]\nstart_seconds = 0", "expected 1 to 86400"),
            ("[mcp.a]\nvariables = { A = 1 }", "expected a string"),
            ("[mcp.a]\nnetwork = 'onn'", "unknown value `onn`"),
        ] {
            let errors = load(&[user(text)], &[], Trust::Trusted).unwrap_err();
            assert!(errors[0].to_string().contains(said), "{text}: {errors:?}");
        }
    }
}
