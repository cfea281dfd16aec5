//! `jm held`: layers of commands that nobody has decided about yet.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use jm_engine::KeptNames;
use jm_engine::layer_diff::held_diff;
use jm_files::layer::{Layer, LayerBounds, LayerReport, NameJudge, StepState};
use jm_files::{Sandbox, SandboxSettings};
use jm_process::Confiner;
use jm_process::held::{HeldEntry, HeldLayer, HeldLayers, HeldStage, SeenLayer};
use jm_types::ErrorCode;
use jm_types::text::{one_line, reveal};

use super::{exit, history, hold, keep_recovery, print, recover, undo};
use crate::cli::{Common, Held, HeldCommand};
use crate::{sessions, wire};

pub(crate) fn run(common: &Common, held: &Held) -> Result<u8> {
    let layers = hold::layers()?;
    match &held.command {
        None => list(&layers, held.json),
        Some(HeldCommand::List(listing)) => list(&layers, held.json || listing.json),
        Some(HeldCommand::Diff { id }) => diff(common, &layers, id.as_deref()),
        Some(HeldCommand::Keep { id, paths }) => {
            keep(common, take(common, &layers, id.as_deref())?, paths)
        }
        Some(HeldCommand::Drop { id }) => drop_layer(common, &layers, id.as_deref()),
    }
}

fn list(layers: &HeldLayers, as_json: bool) -> Result<u8> {
    let all: Vec<HeldEntry> = layers.list()?.into_iter().chain(keep_recovery::list()?).collect();
    if all.is_empty() && !as_json {
        print::note("jm: nothing is held");
    }
    for entry in all {
        if as_json {
            print::json(&entry)?;
            continue;
        }
        let HeldEntry { id, description, is_in_use, is_half_kept } = &entry;
        let state = match (is_in_use, description.stage) {
            _ if *is_half_kept => "  interrupted (resolve it with `jm recover`)",
            (true, _) => "  in use",
            (false, HeldStage::Running) => "  interrupted",
            (false, HeldStage::SetAside) => "",
        };
        let root = one_line(&description.root.to_string_lossy());
        let command = one_line(&description.command.join(" "));
        let time = jm_system::clock::local_time(description.began_ms);
        print::line(&format!("{id}  {time}  {root}  {command}{state}"))?;
    }
    Ok(exit::RAN)
}

/// The layer that was named, or the only one of this workspace.
fn choose(common: &Common, layers: &HeldLayers, id: Option<&str>) -> Result<String> {
    if let Some(id) = id {
        return Ok(id.to_owned());
    }
    let root = history::root(common)?;
    let all = layers.list()?.into_iter().filter(|one| one.description.root == root);
    let (used, free): (Vec<HeldEntry>, Vec<HeldEntry>) = all.partition(|one| one.is_in_use);
    let all = if free.is_empty() { used } else { free };
    let mut ids: Vec<String> = all.into_iter().map(|one| one.id).collect();
    match (ids.pop(), ids.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => match keep_recovery::list()?.iter().find(|one| one.description.root == root) {
            Some(half_kept) => Err(interrupted(&half_kept.id)),
            None => bail!("no held changes for this workspace (list all: `jm held list`)"),
        },
        (Some(_), false) => {
            bail!("several changes are held for this workspace; name one (ids: `jm held list`)")
        }
    }
}

fn take(common: &Common, layers: &HeldLayers, id: Option<&str>) -> Result<HeldLayer> {
    let id = choose(common, layers, id)?;
    layers.take(&id).map_err(|error| refused(&id, &error))
}

fn interrupted(id: &str) -> anyhow::Error {
    anyhow!("{}: its keep was interrupted\n  hint: resolve it with `jm recover`", one_line(id))
}

fn refused(id: &str, error: &std::io::Error) -> anyhow::Error {
    let is_missing = error.kind() == ErrorKind::NotFound;
    if is_missing && keep_recovery::list().is_ok_and(|all| all.iter().any(|one| one.id == id)) {
        return interrupted(id);
    }
    anyhow!("{}: {error}\n  hint: `jm held list` lists the layers", one_line(id))
}

fn report(layer: &Layer, root: &Path, upper: PathBuf) -> Result<LayerReport> {
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(root))
        .with_context(|| format!("{} cannot be opened", root.display()))?;
    let known = Confiner::unsupervised().protected_paths(&sandbox);
    let judge = NameJudge::new(root, known).with_upper(upper);
    let report = layer.report(&judge, LayerBounds::default());
    report.context("its changes cannot be read")
}

fn diff(common: &Common, layers: &HeldLayers, id: Option<&str>) -> Result<u8> {
    let id = choose(common, layers, id)?;
    let SeenLayer { layer, upper, root } =
        layers.look(&id).map_err(|error| refused(&id, &error))?;
    let report = report(&layer, &root, upper)?;
    hold::describe_whole(&report);
    let diff = held_diff(&layer, &report);
    print::result(&diff, &reveal(&diff))?;
    Ok(exit::RAN)
}

fn keep(common: &Common, held: HeldLayer, paths: &[String]) -> Result<u8> {
    if held.is_lost() {
        bail!(
            "the machine was restarted before these changes were on disk; they may be incomplete\n  hint: inspect them in {}, then `jm held drop {}`",
            held.upper().display(),
            held.id()
        );
    }
    if let Some(steps) = held.half_kept()? {
        held.converge(&steps, StepState::Done)?;
        held.remove()?;
        print::note("jm: kept (resumed an interrupted keep)");
        return Ok(exit::RAN);
    }
    hold::describe(&report(held.layer(), &held.description().root, held.upper())?);
    recorded_keep(common, held, paths)
}

/// Keeps a layer, or some files of it, as a change on record, and says so.
pub(super) fn recorded_keep(common: &Common, held: HeldLayer, paths: &[String]) -> Result<u8> {
    let (id, root) = (held.id().to_owned(), held.description().root.clone());
    // The engine takes it.
    drop(held);
    let common = Common { root: vec![root], ..common.clone() };
    let wired = wire::wire(&common)?;
    let mut session = wired.session;
    recover::before_work(&common, &wired.engine, &session.id)?;
    let kept = wired.engine.keep_held(&mut session, &id, paths);
    wired.engine.close(None).map_err(sessions::told)?;
    match kept {
        Ok(KeptNames { rest: None, .. }) => print::note("jm: kept"),
        Ok(KeptNames { left, rest: Some(rest), .. }) => {
            let more = listed(&rest).unwrap_or(left.len());
            print::note(&format!(
                "jm: kept; {more} more set aside as {rest}\n  hint: `jm held diff {rest}`, `jm held keep {rest}` or `jm held drop {rest}`"
            ));
        }
        Err(error) if error.code() == ErrorCode::NotKept => {
            print::note(&format!("jm: {}", undo::told(error)));
            return Ok(exit::DENIED);
        }
        Err(error) => return Err(undo::told(error)),
    }
    Ok(exit::RAN)
}

/// The number of changes that a list of a layer has; a directory that comes or goes whole is one.
fn listed(id: &str) -> Result<usize> {
    let SeenLayer { layer, upper, root } = hold::layers()?.look(id)?;
    Ok(report(&layer, &root, upper)?.shown().count())
}

fn drop_layer(common: &Common, layers: &HeldLayers, id: Option<&str>) -> Result<u8> {
    let id = choose(common, layers, id)?;
    match layers.take(&id) {
        Ok(held) => {
            if let Some(steps) = held.half_kept()? {
                held.converge(&steps, StepState::NotDone)?;
            }
            held.remove()?;
        }
        // Its workspace is gone.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            layers.forget(&id).map_err(|error| refused(&id, &error))?;
        }
        Err(error) => return Err(refused(&id, &error)),
    }
    print::note("jm: dropped");
    Ok(exit::RAN)
}
