//! `jm sandbox --hold`: a command on a layer of its own, and the decision about what it changed.
//!
//! Law: nothing counts before it is kept; what is kept is one change, on record where there is a journal; what nobody
//! decided about is set aside, never thrown away.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use jm_engine::layer_diff::held_diff;
use jm_files::Sandbox;
use jm_files::layer::{KeepError, LayerBounds, LayerReport, NameJudge, NodeChange, NodeKind};
use jm_process::Confiner;
use jm_process::confine::{ConfinementPlan, LayerPlace};
use jm_process::held::{HeldLayer, HeldLayers};
use jm_system::page::page;
use jm_system::terminal::Terminal;
use jm_types::text::{one_line, quoted_words, reveal};

use super::prompt::show;
use super::{exit, held, print};
use crate::cli::{Common, SandboxArgs};
use crate::locations;

/// Names of one kind that are listed; of the rest only the number is told.
const MOST_LISTED: usize = 40;

/// The answer to "keep what it changed?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeepAnswer {
    Keep,
    /// These files, and what belongs to them; the others are left for later.
    Some(Vec<String>),
    Drop,
    Ask,
}

impl KeepAnswer {
    pub(crate) fn of(args: &SandboxArgs) -> Self {
        match (args.keep, args.drop) {
            (true, _) => Self::Keep,
            (_, true) => Self::Drop,
            (false, false) => Self::Ask,
        }
    }
}

pub(crate) fn layers() -> Result<HeldLayers> {
    HeldLayers::open(&locations::state()?).context("held layers")
}

/// Makes the layer of a command, where that works.
pub(crate) fn begin(
    confiner: &Confiner,
    sandbox: &Sandbox,
    plan: &ConfinementPlan,
    args: &SandboxArgs,
) -> Result<(HeldLayer, LayerPlace)> {
    let root = sandbox.working_root().path();
    if let Some(other) = plan.rules.writable.iter().find(|path| *path != root) {
        bail!(
            "--hold covers one directory, but the command could also write {}\n  hint: remove that --root or --writable",
            other.display()
        );
    }
    let layers = layers()?;
    confiner.try_layer(root, &layers).map_err(|why| {
        anyhow!(
            "--hold does not work here: {why}\n  hint: see `jm doctor`, or run without --hold to change the workspace directly"
        )
    })?;
    let held = layers.begin(root, &args.command).context("cannot create a layer")?;
    let place = held.place().context("cannot create a layer")?;
    Ok((held, place))
}

/// Decides about a layer whose command has ended with this exit code.
pub(crate) fn settle(
    common: &Common,
    mut held: HeldLayer,
    judge: &NameJudge,
    answer: KeepAnswer,
    code: u8,
) -> Result<u8> {
    let report = match held.layer().report(judge, LayerBounds::default()) {
        Ok(report) => report,
        Err(error) => {
            print::note(&format!("jm: its changes cannot be read: {error}"));
            return set_aside(held);
        }
    };
    if report.is_empty() && answer != KeepAnswer::Keep {
        held.remove().context("cannot remove the layer")?;
        return Ok(code);
    }
    describe(&report);
    if !report.plan.conflicts.is_empty() {
        print::note("jm: not kept: another program changed the same files meanwhile");
        return set_aside(held);
    }
    let answer = match answer {
        // Nothing is left to be kept.
        KeepAnswer::Ask if report.shown().next().is_none() => KeepAnswer::Drop,
        KeepAnswer::Ask => match ask(&mut held, &report)? {
            Some(answer) => answer,
            None => return set_aside(held),
        },
        given => given,
    };
    let paths = match answer {
        KeepAnswer::Drop => {
            held.remove().context("cannot remove the layer")?;
            if !report.is_empty() {
                print::note("jm: dropped");
            }
            return Ok(code);
        }
        KeepAnswer::Some(paths) => paths,
        KeepAnswer::Keep | KeepAnswer::Ask => Vec::new(),
    };
    if report.is_empty() || common.no_journal {
        return keep_unrecorded(held, &report, code);
    }
    held.set_aside().context("cannot describe the layer")?;
    match held::recorded_keep(common, held, &paths)? {
        exit::RAN => Ok(code),
        refused => Ok(refused),
    }
}

/// Keeps what no journal knows: times alone, or anything where there is none.
fn keep_unrecorded(mut held: HeldLayer, report: &LayerReport, code: u8) -> Result<u8> {
    match held.keep(&report.plan.steps) {
        Ok(()) => {
            held.remove().context("kept, but cannot remove the layer")?;
            if !report.is_empty() {
                print::note("jm: kept");
            }
            Ok(code)
        }
        Err(error @ KeepError::Changed { .. }) => {
            print::note(&format!("jm: not kept: {error}"));
            set_aside(held)
        }
        Err(error) => {
            held.set_aside().context("cannot describe the layer")?;
            let id = held.id();
            Err(anyhow!("not kept: {error}\n  hint: set aside as {id}: `jm held diff {id}`"))
        }
    }
}

/// Leaves the decision to somebody else.
pub(crate) fn set_aside(mut held: HeldLayer) -> Result<u8> {
    held.set_aside().context("cannot describe the layer")?;
    let id = held.id();
    print::note(&format!(
        "jm: set aside as {id}; the workspace is unchanged\n  hint: `jm held diff {id}`, `jm held keep {id}` or `jm held drop {id}`"
    ));
    Ok(exit::DENIED)
}

/// Asks the person at the terminal; `None` where nobody answers. A yes counts once every name was listed.
fn ask(held: &mut HeldLayer, report: &LayerReport) -> Result<Option<KeepAnswer>> {
    let Some(mut terminal) = Terminal::open() else { return Ok(None) };
    // Whatever happens meanwhile, nothing of it is lost.
    held.set_aside().context("cannot describe the layer")?;
    let is_cut = groups(report).iter().any(|group| group.len() > MOST_LISTED);
    let mut is_listed = !is_cut;
    let (letters, more) =
        if is_cut { ("y/n/k/d/l", ", l (list every name)") } else { ("y/n/k/d", "") };
    loop {
        show(&format!("Keep these changes? [{letters}] "))?;
        let answer = terminal.answer()?.map(|answer| answer.trim().to_owned());
        let paths = answer.as_deref().and_then(|answer| answer.strip_prefix("k "));
        if let Some(paths) = paths {
            let paths = quoted_words(paths, char::is_whitespace);
            match report.select(held.layer(), &paths) {
                Ok(_) => return Ok(Some(KeepAnswer::Some(paths))),
                Err(error) => show(&format!("{error}\n"))?,
            }
            continue;
        }
        match answer.map(|answer| answer.to_lowercase()).as_deref() {
            Some("y" | "yes") if is_listed => return Ok(Some(KeepAnswer::Keep)),
            Some("y" | "yes" | "l" | "list") if is_cut => {
                let list = whole_list(report);
                // Without a pager the terminal scrolls.
                page(&list).or_else(|_| show(&list).map_err(std::io::Error::other))?;
                is_listed = true;
            }
            Some("n" | "no") => return Ok(Some(KeepAnswer::Drop)),
            Some("d" | "diff") => show(&reveal(&held_diff(held.layer(), report)))?,
            Some(_) => show(&format!(
                "Please answer y (keep), n (drop), k PATH … (keep these), d (show the diff){more}.\n"
            ))?,
            None => {
                show("\n")?;
                return Ok(None);
            }
        }
    }
}

/// The judge of names for a command whose plan is known.
pub(crate) fn judge(sandbox: &Sandbox, plan: &ConfinementPlan) -> NameJudge {
    let known = plan.rules.protected().cloned().collect();
    NameJudge::new(sandbox.working_root().path(), known)
}

/// Tells what changed, names that make something run later first; of many names the first ones.
pub(crate) fn describe(report: &LayerReport) {
    tell_counts(report);
    for group in groups(report) {
        group.iter().take(MOST_LISTED).for_each(|line| print::note(&format!("  {line}")));
        if group.len() > MOST_LISTED {
            print::note(&format!("  … and {} more", group.len() - MOST_LISTED));
        }
    }
}

/// Tells what changed, every name.
pub(crate) fn describe_whole(report: &LayerReport) {
    tell_counts(report);
    print::note(whole_list(report).trim_end_matches('\n'));
}

fn tell_counts(report: &LayerReport) {
    let shown: Vec<_> = report.shown().collect();
    if !shown.is_empty() {
        let count = |wanted| shown.iter().filter(|(_, change, _)| *change == wanted).count();
        print::note(&format!(
            "jm: held: {} created, {} changed, {} deleted",
            count(NodeChange::Created),
            count(NodeChange::Changed),
            count(NodeChange::Deleted)
        ));
    }
}

fn whole_list(report: &LayerReport) -> String {
    groups(report).iter().flatten().map(|line| format!("  {line}\n")).collect()
}

/// A line for each name: those that run later, those that change, those that are never kept, conflicts.
fn groups(report: &LayerReport) -> [Vec<String>; 4] {
    let later = report.runs_later.iter();
    let later = later.map(|(path, why)| format!("runs later: {} ({why})", name(path)));
    let changed = report.shown().map(|(step, change, inside)| {
        let word = match change {
            NodeChange::Created => "created",
            NodeChange::Changed => "changed",
            NodeChange::Deleted => "deleted",
        };
        let kind = step.after.as_ref().or(step.before.as_ref()).map(|facts| facts.kind);
        let slash = if kind == Some(NodeKind::Directory) { "/" } else { "" };
        let inside = match inside {
            0 => String::new(),
            1 => " (1 name in it)".to_owned(),
            more => format!(" ({more} names in it)"),
        };
        format!("{word} {}{slash}{inside}", name(&step.path))
    });
    let refused = report.plan.refused.iter();
    let refused =
        refused.map(|node| format!("never kept: {} ({})", name(&node.path), node.why.in_words()));
    let conflicts = report.plan.conflicts.iter();
    let conflicts = conflicts.map(|one| format!("conflict: {}: {}", name(&one.path), one.why));
    [later.collect(), changed.collect(), refused.collect(), conflicts.collect()]
}

fn name(path: &Path) -> String {
    match path.to_string_lossy() {
        here if here.is_empty() => ".".to_owned(),
        name => one_line(&name),
    }
}
