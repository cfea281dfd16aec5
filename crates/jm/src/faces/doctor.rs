//! `jm doctor`: what works on this machine, what that means for commands, and how much room the state
//! directory has.

use anyhow::{Context, Result};
use jm_config::{CommandLayer, ConfigWord};
use jm_files::Sandbox;
use jm_process::EnvSanitizer;
use jm_process::confine::{Backend, Mechanism, probe_backends};
use jm_tui::block::numbers::bytes;
use serde_json::json;

use super::disk_usage::Room;
use super::environment::Check;
use super::{environment, exit, hold, print};
use crate::cli::{Common, ListingArgs};
use crate::{confine, wire};

/// Guarantees against commands, and the back ends that give them.
const ENFORCED: &[(&str, &[Backend])] = &[
    ("write outside the workspace", ALL),
    ("read your home, but for toolchains", ALL),
    ("read denied files of the workspace", OWN_TREE),
    ("change .git/hooks, .git/config, .journeyman and the like", OWN_TREE),
    ("change modes and times outside the workspace", OWN_TREE),
    ("reach the network, or hosts that are not listed", ALL),
    // Where it has Unix sockets at all, one in the workspace is a file of the workspace.
    ("reach sockets of other programs outside the workspace", ALL),
    ("see, signal or trace other processes", ALL),
    ("use /tmp in common with others", OWN_TREE),
    ("make namespaces, mounts, keys, io_uring, bpf", ALL),
    ("gain rights by setuid programs", ALL),
    ("leave set-user-id or set-group-id programs behind", ALL),
];
const OWN_TREE: &[Backend] = &[Backend::Namespaces, Backend::Bwrap];
const ALL: &[Backend] = &[Backend::Namespaces, Backend::Bwrap, Backend::Landlock];

pub(crate) fn run(common: &Common, listing: &ListingArgs) -> Result<u8> {
    let loaded = wire::load(common)?;
    let config = &loaded.config;
    let sandbox = Sandbox::new(&wire::sandbox_settings(common, config)?)
        .context("cannot open the workspace")?;
    let environment = EnvSanitizer::new(&config.tools.environment.denylist);
    let environment = environment.sanitize(std::env::vars_os());
    let mechanisms = probe_backends(&confine::launcher());
    let confiner = confine::confiner(config)?;
    let plan = confiner.plan(&sandbox, &environment);
    let backend = confiner.backend();
    // Without a state directory there is no place for a layer, which the room below tells too.
    let layers = hold::layers().map_err(|error| format!("{error:#}"));
    let root = sandbox.working_root().path();
    let layers = layers.and_then(|layers| confiner.try_layer(root, &layers));
    let holds = |by: &[Backend]| by.contains(&backend);
    // A state directory that cannot be used is one of the things to tell.
    let room = Room::now(config.journal.quota_bytes);
    let checks = environment::checks(common, &room);
    if listing.json {
        let enforced =
            ENFORCED.iter().map(|(what, by)| json!({"cannot": what, "holds": holds(by)}));
        print::json(&json!({
            "mechanisms": mechanisms, "backend": backend, "configured": config.tools.sandbox.commands,
            "enforced": enforced.collect::<Vec<_>>(), "gaps": plan.gaps,
            "hold": {"works": layers.is_ok(), "detail": layers.as_ref().err()},
            "state": room.as_ref().ok().map(|room| json!({
                "path": room.path, "free": room.free, "stored": room.stored, "most": room.most,
            })),
            "warnings": warnings(&room),
            "checks": checks.iter().map(Check::as_json).collect::<Vec<_>>(),
        }))?;
    } else {
        let network = plan.rules.network.in_words();
        let words: String = checks.iter().map(Check::in_words).collect();
        print::text(&jm_types::text::sanitize(&format!("environment:\n{words}")))?;
        print::text(&in_words(&mechanisms, (backend, &network), &plan.gaps, &holds))?;
        print::text(&layers_in_words(&layers))?;
        print::text(&ground_in_words(config.tools.sandbox.commands.layer, &layers))?;
        print::text(&room_in_words(&room))?;
    }
    Ok(if backend == Backend::None { exit::FAILED } else { exit::RAN })
}

fn layers_in_words(layers: &Result<(), String>) -> String {
    match layers {
        Ok(()) => "held commands (jm sandbox --hold): work\n".to_owned(),
        Err(why) => {
            let why = jm_types::text::one_line(why);
            format!("held commands (jm sandbox --hold): do not work here: {why}\n")
        }
    }
}

/// The ground on which the commands of tools run.
fn ground_in_words(wanted: CommandLayer, layers: &Result<(), String>) -> String {
    let setting = format!("tools.sandbox.commands.layer = {}", wanted.name());
    let ground = match (wanted, layers) {
        (CommandLayer::Off, _) => "directly in the workspace",
        (CommandLayer::Auto | CommandLayer::On, Ok(())) => "on layers, kept when they have ended",
        (CommandLayer::Auto, Err(_)) => {
            "directly in the workspace, because layers do not work here"
        }
        (CommandLayer::On, Err(_)) => "not at all, because layers do not work here",
    };
    format!("commands of tools run: {ground} ({setting})\n")
}

fn warnings(room: &Result<Room>) -> Vec<String> {
    match room {
        Ok(room) => room.warnings(),
        Err(error) => vec![format!("nothing can be recorded, so nothing runs: {error:#}")],
    }
}

fn room_in_words(room: &Result<Room>) -> String {
    let mut text = match room {
        Err(_) => "state directory: cannot be used\n".to_owned(),
        Ok(Room { path, free, stored, most }) => format!(
            "state directory: {}\n  {} of {} used; {} free on its disk\n",
            path.display(),
            bytes(*stored),
            bytes(*most),
            bytes(*free)
        ),
    };
    warnings(room).iter().for_each(|warning| text.push_str(&format!("  warning: {warning}\n")));
    jm_types::text::sanitize(&text)
}

fn in_words(
    mechanisms: &[Mechanism],
    (backend, network): (Backend, &str),
    gaps: &[String],
    holds: &dyn Fn(&[Backend]) -> bool,
) -> String {
    let mut text = "sandbox back ends:\n".to_owned();
    for one in mechanisms {
        let word = if one.works { "works" } else { "does not work" };
        text.push_str(&format!("  {:<11} {word}: {}\n", one.backend.name(), one.detail));
    }
    text.push_str(&format!("in use: {}\nnetwork: {network}\n", backend.name()));
    text.push_str("a command cannot:\n");
    for (what, by) in ENFORCED {
        let mark = if holds(by) { "+" } else { "-" };
        text.push_str(&format!("  {mark} {what}\n"));
    }
    if !gaps.is_empty() {
        text.push_str("not enforced here, so commands need approval:\n");
        gaps.iter().for_each(|gap| text.push_str(&format!("  {gap}\n")));
    }
    jm_types::text::sanitize(&text)
}
