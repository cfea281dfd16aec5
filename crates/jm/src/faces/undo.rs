//! `jm undo` and `jm redo`.

use anyhow::{Context, Result, bail};
use jm_engine::undo::in_force::{self, ChangeKind};
use jm_engine::{Damaged, Guard, TakenBack, UndoReport, Which};
use jm_types::SessionId;
use jm_types::text::one_line;
use serde_json::{Value, json};

use super::{exit, history, print, recover};
use crate::cli::{Common, Redo, Undo};
use crate::{sessions, wire};

pub(crate) fn undo(common: &Common, undo: &Undo) -> Result<u8> {
    if let Some(key) = undo.call.as_ref().or(undo.to.as_ref()) {
        let session = key.session().context("a call is named as in `jm log`")?;
        let which =
            if undo.call.is_some() { Which::Call(key.clone()) } else { Which::To(key.clone()) };
        return tell(&take_back(common, &session, &which, undo.how)?, undo.how);
    }
    if undo.count == 0 {
        bail!("undo 0 calls? Give a number from 1");
    }
    let mut code = exit::RAN;
    for number in 0..undo.count {
        let session = match newest(common, ChangeKind::Change)? {
            Some(session) => session,
            None if number == 0 => {
                bail!("there is nothing to take back; `jm log` shows what was changed")
            }
            None => break,
        };
        let report = take_back(common, &session, &Which::Last(1), undo.how)?;
        // At once, since a later one may fail.
        code = code.max(tell(&report, undo.how)?);
        if !report.is_complete {
            break;
        }
    }
    Ok(code)
}

pub(crate) fn redo(common: &Common, how: Redo) -> Result<u8> {
    let session = newest(common, ChangeKind::Undo)?.context("there is no undo to take back")?;
    tell(&take_back(common, &session, &Which::Undo, how)?, how)
}

/// The session that is named, or that of this workspace whose last such change is the newest of all.
fn newest(common: &Common, kind: ChangeKind) -> Result<Option<SessionId>> {
    let store = sessions::store()?;
    if common.session.is_some() {
        let session = history::choose(&store, common, None)?.session;
        let has_any = in_force::has_any(&store, &session, kind).map_err(sessions::told)?;
        return Ok(has_any.then_some(session));
    }
    in_force::newest_session(&store, &history::root(common)?, kind).map_err(sessions::told)
}

fn take_back(common: &Common, session: &SessionId, which: &Which, how: Redo) -> Result<UndoReport> {
    let guard = if how.force { Guard::Force } else { Guard::Hash };
    let damaged = if how.despite_damage { Damaged::Accept } else { Damaged::Refuse };
    history::choose(&sessions::store()?, common, Some(session))?;
    let wired = wire::wire_with(common, |opening| sessions::open_named(common, session, opening))?;
    recover::before_work(common, &wired.engine, session)?;
    let mut session = wired.session;
    let report = wired.engine.undo(&mut session, which, guard, damaged).map_err(|error| {
        let hints: String = error.hints.iter().map(|hint| format!("\n  hint: {hint}")).collect();
        anyhow::anyhow!("{error}{hints}")
    })?;
    wired.engine.close(None).map_err(sessions::told)?;
    Ok(report)
}

fn tell(report: &UndoReport, how: Redo) -> Result<u8> {
    if how.json {
        print::json(&as_json(report))?
    } else {
        in_words(report)?
    }
    Ok(if report.skipped.is_empty() { exit::RAN } else { exit::FAILED })
}

fn as_json(report: &UndoReport) -> Value {
    let calls = report
        .calls
        .iter()
        .map(|TakenBack { call, summary }| json!({"call": call, "summary": summary}));
    let left = report.skipped.iter().map(|(path, why)| json!({"path": path, "why": why}));
    json!({
        "calls": calls.collect::<Vec<_>>(), "complete": report.is_complete,
        "restored": report.restored, "removed": report.removed,
        "left_alone": left.collect::<Vec<_>>(), "not_tracked": report.gaps,
    })
}

pub(super) fn in_words(report: &UndoReport) -> Result<()> {
    let has_changed = !report.restored.is_empty() || !report.removed.is_empty();
    let done = match (report.skipped.is_empty(), has_changed) {
        (true, _) => "took back",
        (false, true) => "took back in part",
        (false, false) => "not taken back",
    };
    for TakenBack { call, summary } in &report.calls {
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
    Ok(())
}
