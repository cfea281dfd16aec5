//! Preflight: every path of a call through the sandbox, every command against its confinement.
//!
//! Law: it only looks. Protection and missing confinement make a call need a person; nothing here lifts that
//! need.

use jm_files::Protection;
use jm_process::confine::Network;
use jm_tools::{Effect, Intent, Use};
use jm_types::{RiskLevel, ToolError};

use crate::core::Core;

/// Resolves every path of the call; a protected one makes the call need a person. Gives the warnings.
pub(crate) fn preflight(core: &Core, intent: &mut Intent) -> Result<Vec<String>, ToolError> {
    let sandbox = &core.workspace.sandbox;
    let mut warnings = Vec::new();
    for wanted in &intent.paths {
        let path = wanted.resolve(sandbox)?;
        if wanted.purpose != Use::Write {
            continue;
        }
        match sandbox.protection(&path) {
            Protection::None => {}
            Protection::RunsInBuilds => warnings.push(format!("{} runs in builds", wanted.path)),
            Protection::NeedsPerson(why) => {
                intent.needs_person = true;
                // Protected files first: they are what the person must not overlook.
                warnings.insert(0, format!("{} is protected: {why}", wanted.path));
            }
            Protection::Never => sandbox.refuse_own(&path)?,
        }
    }
    if intent.effect == Effect::Inspects && !is_kept_to_reading(core) {
        // Asked about like any other command, and with a yes run as one.
        intent.effect = Effect::Runs;
        intent.risk = intent.risk.max(RiskLevel::Medium);
        intent.needs_person = true;
    }
    if intent.effect == Effect::Runs {
        let open = unconfined(core);
        // Nobody runs what is not held in without being told what that leaves open.
        intent.needs_person |= !open.is_empty();
        warnings.extend(open);
        warnings.extend(listed(core));
    }
    Ok(warnings)
}

/// Tells if confinement can hold a command to reading here.
fn is_kept_to_reading(core: &Core) -> bool {
    let environment = core.workspace.environment.sanitize(std::env::vars_os());
    let plan = core.workspace.confiner.reading_plan(&core.workspace.sandbox, &environment);
    plan.gaps.is_empty()
}

/// Lists what a command could do beyond the sandbox: granted, or not enforceable here.
fn unconfined(core: &Core) -> Vec<String> {
    let confiner = &core.workspace.confiner;
    let environment = core.workspace.environment.sanitize(std::env::vars_os());
    let mut open = confiner.plan(&core.workspace.sandbox, &environment).gaps;
    let settings = confiner.settings();
    open.extend(settings.writable.iter().map(|path| format!("it may write {}", path.display())));
    match settings.network {
        Network::On => open.push("it may use the network".to_owned()),
        Network::Listed(_) | Network::Off => {}
    }
    open
}

/// The hosts it may reach. A person wrote them down and the egress proxy holds a command to them, so they are
/// told and need no question of their own.
fn listed(core: &Core) -> Option<String> {
    match &core.workspace.confiner.settings().network {
        Network::Listed(list) => Some(format!("it may reach {list}")),
        Network::On | Network::Off => None,
    }
}
