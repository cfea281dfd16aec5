//! `jm undo` and `jm redo`.

use anyhow::{Context, Result, bail};
use jm_engine::force::{self, Kind};
use jm_engine::{Guard, Taken, UndoReport, Which};
use jm_types::text::one_line;

use super::{exit, history, print, recover};
use crate::cli::{Common, Redo, Undo};
use crate::{sessions, wire};

pub(crate) fn undo(common: &Common, undo: &Undo) -> Result<u8> {
    let guard = guard(undo.force);
    if let Some(key) = undo.call.as_ref().or(undo.to.as_ref()) {
        let (session, _) = key.rsplit_once('-').context("a call is named as in `jm log`")?;
        let which = match undo.call.is_some() {
            true => Which::Call(key.clone()),
            false => Which::To(key.clone()),
        };
        return report(&take_back(common, session, &which, guard)?);
    }
    if undo.count == 0 {
        bail!("undo 0 calls? Give a number from 1");
    }
    for number in 0..undo.count {
        match newest(common, Kind::Change)? {
            // Each is told at once, since a later one may fail; one that is not whole is the last.
            Some(session) => match report(&take_back(common, &session, &Which::Last(1), guard)?)? {
                exit::RAN => {}
                code => return Ok(code),
            },
            None if number == 0 => {
                bail!("there is nothing to take back; `jm log` shows what was changed")
            }
            None => break,
        }
    }
    Ok(exit::RAN)
}

pub(crate) fn redo(common: &Common, redo: &Redo) -> Result<u8> {
    let session = newest(common, Kind::Undo)?.context("there is no undo to take back")?;
    report(&take_back(common, &session, &Which::Undo, guard(redo.force))?)
}

fn guard(force: bool) -> Guard {
    if force { Guard::Force } else { Guard::Hash }
}

/// The session that is named, or that of this workspace whose last such change is the newest of all.
fn newest(common: &Common, kind: Kind) -> Result<Option<String>> {
    let store = sessions::store()?;
    if common.session.is_some() {
        let session = history::choose(&store, common, None)?.session;
        let has_any = force::has_any(&store, &session, kind).map_err(sessions::told)?;
        return Ok(has_any.then_some(session));
    }
    force::newest_session(&store, &history::root(common)?, kind).map_err(sessions::told)
}

fn take_back(common: &Common, session: &str, which: &Which, guard: Guard) -> Result<UndoReport> {
    history::choose(&sessions::store()?, common, Some(session))?;
    let wired = wire::wire_with(common, |opening| sessions::open_named(common, session, opening))?;
    recover::before_work(common, &wired.engine, session)?;
    let mut session = wired.session;
    let report = wired.engine.undo(&mut session, which, guard).map_err(|error| {
        let hints: String = error.hints.iter().map(|hint| format!("\n  hint: {hint}")).collect();
        anyhow::anyhow!("{error}{hints}")
    })?;
    wired.engine.close(None).map_err(sessions::told)?;
    Ok(report)
}

pub(super) fn report(report: &UndoReport) -> Result<u8> {
    let has_changed = !report.restored.is_empty() || !report.removed.is_empty();
    let done = match (report.is_complete, has_changed) {
        (true, _) => "took back",
        (false, true) => "took back in part",
        (false, false) => "not taken back",
    };
    for Taken { call, summary } in &report.calls {
        print::line(&format!("{done}: {call} {}", one_line(summary)))?;
    }
    for (what, paths) in [("restored", &report.restored), ("removed", &report.removed)] {
        for path in paths {
            print::line(&format!("{what}: {}", one_line(&path.to_string_lossy())))?;
        }
    }
    for (path, why) in &report.skipped {
        let path = one_line(&path.to_string_lossy());
        print::line(&format!("left alone: {path}: {}", one_line(why)))?;
    }
    for gap in &report.gaps {
        print::line(&format!("not tracked: {}", one_line(gap)))?;
    }
    if !has_changed && report.skipped.is_empty() && report.gaps.is_empty() {
        print::line("nothing had to be changed")?;
    }
    Ok(if report.skipped.is_empty() { exit::RAN } else { exit::FAILED })
}
