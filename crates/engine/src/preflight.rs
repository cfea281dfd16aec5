//! Preflight: every path of a call through the sandbox, every command against its confinement.
//!
//! Law: it only looks. Protection and missing confinement make a call need a person; nothing here lifts that
//! need.

use jm_files::{Protection, SafePath};
use jm_policy::{Floor, TouchedPath};
use jm_process::confine::Network;
use jm_tools::{Intent, Prepared, ToolEffect, Use};
use jm_types::{ApprovalMode, RiskLevel, ToolError};

use crate::core::Core;
use crate::hold;
use crate::layers::LayerUse;

/// The findings about a call's paths and its confinement.
#[derive(Debug)]
pub(crate) struct Preflight {
    pub(crate) warnings: Vec<String>,
    /// The demand of the call itself, whatever lists, rules and modes say.
    pub(crate) floor: Floor,
    pub(crate) paths: Vec<TouchedPath>,
}

/// Resolves every path of the call; a protected one makes the call need a person.
pub(crate) fn preflight(
    core: &Core,
    prepared: &dyn Prepared,
    intent: &mut Intent,
) -> Result<Preflight, ToolError> {
    let sandbox = &core.workspace.sandbox;
    let (mut warnings, mut paths) = (Vec::new(), Vec::new());
    if prepared.is_command() && core.layers.wanted() != LayerUse::Off {
        // Before the back end is chosen: one trial shows both.
        drop(hold::works(core));
    }
    weigh_command(core, prepared, intent);
    let mut writes_protected = false;
    let mut floor = if intent.needs_person { Floor::Confirmation } else { Floor::None };
    for wanted in &intent.paths {
        let path = wanted.resolve(sandbox)?;
        if !matches!(wanted.purpose, Use::WorkIn(_)) {
            let is_written = wanted.purpose == Use::Write;
            paths.push(TouchedPath { path: named_in_rules(core, &path), is_written });
        }
        if wanted.purpose != Use::Write {
            continue;
        }
        match sandbox.protection(&path) {
            Protection::None => {}
            Protection::RunsInBuilds => warnings.push(format!("{} runs in builds", wanted.path)),
            Protection::NeedsPerson(why) => {
                floor = Floor::Person;
                writes_protected = true;
                // Protected files first: they are what the person must not overlook.
                warnings.insert(0, format!("{} is protected: {why}", wanted.path));
            }
            Protection::Never => sandbox.refuse_own(&path)?,
        }
    }
    if writes_protected && !core.policy.now().is_strict {
        intent.risk = RiskLevel::High;
    }
    if intent.effect == ToolEffect::Inspects && !is_kept_to_reading(core) {
        // Asked about like any other command, and with a yes run as one.
        intent.effect = ToolEffect::Runs;
        intent.risk = intent.risk.max(RiskLevel::Medium);
        floor = floor.max(Floor::Confirmation);
    }
    if intent.effect == ToolEffect::Runs {
        // Nobody runs what is not held in without being told what that leaves open. What cannot be
        // enforced only a person may accept; what the person granted, a rule of theirs may confirm.
        let standing = prepared.standing_gaps();
        let starts_programs = standing.is_none();
        let gaps = standing.unwrap_or_else(|| gaps(core));
        // The settings of commands say nothing of a program that runs already.
        let granted = if starts_programs { granted(core) } else { Vec::new() };
        if !granted.is_empty() {
            floor = floor.max(Floor::Confirmation);
        }
        if !gaps.is_empty() {
            floor = Floor::Person;
        }
        // It may act beyond the workspace.
        if !(gaps.is_empty() && granted.is_empty()) {
            intent.risk = RiskLevel::High;
        }
        warnings.extend(gaps);
        warnings.extend(granted);
        warnings.extend(listed(core).filter(|_| starts_programs));
        warnings.extend(direct(core, intent).filter(|_| starts_programs));
    }
    warnings.extend(intent.publishes.iter().map(|port| {
        format!("If approved: port {port} of this process is reachable at 127.0.0.1:{port}, by all programs and users of this machine")
    }));
    intent.publishes.retain(|port| !core.workspace.confiner.settings().publish.contains(port));
    if !intent.publishes.is_empty() {
        // The person gave no leave for it, and a rule about the command is about the command.
        floor = Floor::Person;
        intent.risk = RiskLevel::High;
    }
    Ok(Preflight { warnings, floor, paths })
}

/// The risk of a command by what it does, and its right to run unasked where it only reads. A document that
/// is followed to the letter keeps its own.
fn weigh_command(core: &Core, prepared: &dyn Prepared, intent: &mut Intent) {
    let policy = core.policy.now();
    let Some(line) = intent.command.as_ref().filter(|_| !policy.is_strict) else { return };
    let danger = line.danger();
    if intent.effect != ToolEffect::Runs {
        return;
    }
    intent.risk = danger.risk();
    let may_inspect = policy.runs_readers && prepared.is_command() && intent.stands_for.is_none();
    if may_inspect && !danger.needs_person() && is_kept_to_reading(core) {
        intent.effect = ToolEffect::Inspects;
        intent.needs_person = false;
    }
}

/// A path as rules name it: relative to the first root, and absolute below the others.
fn named_in_rules(core: &Core, path: &SafePath) -> String {
    let whole = path.absolute();
    let first = core.workspace.sandbox.working_root().path();
    let name = whole.strip_prefix(first).unwrap_or(&whole).to_string_lossy().into_owned();
    if name.is_empty() { ".".to_owned() } else { name }
}

/// Tells if confinement can hold a command to reading here.
fn is_kept_to_reading(core: &Core) -> bool {
    let environment = core.workspace.environment.sanitize(std::env::vars_os());
    let plan = core.workspace.confiner.reading_plan(&core.workspace.sandbox, &environment);
    plan.gaps.is_empty()
}

/// Lists what confinement cannot enforce here.
fn gaps(core: &Core) -> Vec<String> {
    let environment = core.workspace.environment.sanitize(std::env::vars_os());
    core.workspace.confiner.plan(&core.workspace.sandbox, &environment).gaps
}

/// Tells whether nothing that the command does counts before it is kept, and it reaches nothing besides. Found out only
/// where that decides something.
pub(crate) fn is_held(core: &Core, intent: &Intent) -> bool {
    let settings = core.workspace.confiner.settings();
    core.policy.now().mode == ApprovalMode::Effects
        && intent.effect == ToolEffect::Runs
        && settings.network == Network::Off
        && settings.writable.is_empty()
        && core.layers.wanted() != LayerUse::Off
        && hold::works(core).is_ok()
}

/// Lists what commands were granted beyond the sandbox.
fn granted(core: &Core) -> Vec<String> {
    let settings = core.workspace.confiner.settings();
    let mut granted: Vec<String> = settings
        .writable
        .iter()
        .map(|path| format!("If approved: write access to {}", path.display()))
        .collect();
    match settings.network {
        Network::On => granted.push("If approved: network access".to_owned()),
        Network::Listed(_) | Network::Off => {}
    }
    granted
}

/// The directories that it changes directly although it is on a layer. A person wrote them down.
fn direct(core: &Core, intent: &Intent) -> Option<String> {
    let names = core.workspace.confiner.settings().direct.iter();
    let names: Vec<String> = names.map(|name| name.display().to_string()).collect();
    let is_direct =
        !names.is_empty() && core.layers.wanted() != LayerUse::Off && !is_held(core, intent);
    let text =
        || format!("If approved: direct changes in {}, which are not undone", names.join(", "));
    is_direct.then(text)
}

/// The hosts it may reach. A person wrote them down and the egress proxy holds a command to them, so they are
/// told and need no question of their own.
fn listed(core: &Core) -> Option<String> {
    match &core.workspace.confiner.settings().network {
        Network::Listed(list) => Some(format!("If approved: access to {list}")),
        Network::On | Network::Off => None,
    }
}
