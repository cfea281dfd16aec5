//! How commands are confined: from flags and settings to whoever confines them.

use std::path::{Component, PathBuf};

use anyhow::{Context, Result, bail};
use jm_config::{CommandBackend, Config, RuleEntry};
use jm_policy::{HOST_RULE, PolicyRule, RuleOrigin, Subject};
use jm_process::Confiner;
use jm_process::confine::{Backend, CommandSettings, Launcher, Resources};
use jm_types::{HostExceptions, HostList, HostRule, Network, Verdict};

use crate::cli::Common;
use crate::locations;

/// Whatever becomes of the file that we were started from.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";
const RECORDS: &str = "commands";

/// The flags as settings.
pub(crate) fn flags(common: &Common) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let words: Vec<&str> = common.network.iter().map(String::as_str).collect();
    let network = match words[..] {
        [] => None,
        [word @ ("on" | "off")] => Some(serde_json::to_string(word)?),
        // Everything includes the hosts that are named besides.
        _ if words.contains(&"on") => Some("\"on\"".to_owned()),
        _ => Some(serde_json::to_string(&words)?),
    };
    lines.extend(network.map(|value| format!("tools.sandbox.commands.network = {value}")));
    if !common.writable.is_empty() {
        // Settings are text.
        let paths = serde_json::to_string(&common.writable).context("--writable")?;
        lines.push(format!("tools.sandbox.commands.writable = {paths}"));
    }
    Ok(lines)
}

/// For commands of no session.
pub(crate) fn confiner(config: &Config) -> Result<Confiner> {
    Ok(Confiner::new(launcher(), settings(config)?))
}

/// For commands of a session: how they ended is known also if we are not there to hear it, unless nothing is recorded.
pub(crate) fn recording_confiner(common: &Common, config: &Config) -> Result<Confiner> {
    let settings = CommandSettings { publish: common.publish.clone(), ..settings(config)? };
    if common.no_journal {
        return Ok(Confiner::new(launcher(), settings));
    }
    let records = locations::state()?.path().join(RECORDS);
    let launcher = Launcher { records: Some(records), ..launcher() };
    Ok(Confiner::new(launcher, settings))
}

pub(crate) fn launcher() -> Launcher {
    Launcher::new(THIS_PROGRAM)
}

fn settings(config: &Config) -> Result<CommandSettings> {
    let commands = &config.tools.sandbox.commands;
    let backend = match commands.backend {
        CommandBackend::Auto => None,
        CommandBackend::Namespaces => Some(Backend::Namespaces),
        CommandBackend::Bwrap => Some(Backend::Bwrap),
        CommandBackend::Landlock => Some(Backend::Landlock),
        CommandBackend::None => Some(Backend::None),
    };
    let real = |path: &String| -> Result<PathBuf> {
        let path = PathBuf::from(path);
        path.canonicalize().with_context(|| format!("writable directory {}", path.display()))
    };
    let (network, exceptions) = reach(config)?;
    Ok(CommandSettings {
        backend,
        network,
        exceptions,
        writable: commands.writable.iter().map(real).collect::<Result<_>>()?,
        direct: direct(&commands.direct)?,
        publish: Vec::new(),
        resources: Resources {
            processes: commands.max_processes,
            memory_bytes: commands.max_memory_bytes,
            file_bytes: commands.max_file_bytes,
        },
    })
}

/// Directories of the workspace by names that stay in it, whatever is there.
fn direct(names: &[String]) -> Result<Vec<PathBuf>> {
    let path = |name: &String| {
        let path = PathBuf::from(name);
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let mut names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        if names.next().is_some() && path.components().all(is_plain) {
            return Ok(path);
        }
        bail!(
            "tools.sandbox.commands.direct: `{name}` is not a directory inside the workspace\n  hint: name it relative to the root, such as `target`"
        )
    };
    names.iter().map(path).collect()
}

/// The hosts that commands reach, by the network setting and the rules about hosts.
fn reach(config: &Config) -> Result<(Network, HostExceptions)> {
    let approval = &config.tools.approval;
    let [allowed, asked, denied] = [
        host_rules(&approval.allow, Verdict::Allow)?,
        host_rules(&approval.ask, Verdict::Ask)?,
        host_rules(&approval.deny, Verdict::Deny)?,
    ];
    let exceptions = HostExceptions::new(&asked, &denied);
    let network = match &config.tools.sandbox.commands.network {
        Network::On if exceptions.is_empty() => Network::On,
        Network::On => {
            let first = asked.first().or(denied.first()).map(ToString::to_string);
            bail!(
                "the rule `host: {}` cannot be enforced while the network is on\n  hint: list the hosts that commands may reach (`tools.sandbox.commands.network`, `--network=HOST`), or remove the rule",
                first.unwrap_or_default()
            )
        }
        Network::Off => listed(allowed, &exceptions),
        Network::Listed(list) => {
            listed(list.rules().cloned().chain(allowed).collect(), &exceptions)
        }
    };
    Ok((network, exceptions))
}

fn listed(rules: Vec<HostRule>, exceptions: &HostExceptions) -> Network {
    let list = HostList::new(rules).map(|list| list.except(exceptions.clone()));
    list.map_or(Network::Off, Network::Listed)
}

fn host_rules(entries: &[RuleEntry], verdict: Verdict) -> Result<Vec<HostRule>> {
    let about_hosts = entries.iter().filter(|entry| entry.tool() == HOST_RULE);
    let rules = about_hosts.map(|entry| {
        let rule =
            PolicyRule::parse(&entry.rule, verdict, RuleOrigin::BuiltIn, |_| Subject::Hosts)?;
        Ok(rule.host().cloned())
    });
    Ok(rules.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
