//! `jm recover`, and what every face does first: look for what a crash left unfinished.

use anyhow::{Result, bail};
use jm_engine::{Engine, RecoveryChoice};
use jm_store::Store;
use jm_system::terminal::Terminal;
use jm_tui::block::numbers;
use jm_types::SessionId;
use jm_types::text::sanitize;

use super::{exit, facts, history, print};
use crate::cli::{Common, ListingArgs, OnRecovery};
use crate::{sessions, wire};

/// A session with unfinished calls goes on only when the person, or a flag, has decided.
pub(crate) fn before_work(common: &Common, engine: &Engine, session: &SessionId) -> Result<()> {
    let found = engine.examine(session)?;
    if found.is_empty() {
        return Ok(());
    }
    print::note(&facts::in_words(&sessions::store()?, engine, session, &found));
    match decide(common)? {
        Some(choice) => {
            let protected = others(session)?;
            engine.recover(found, choice, &protected).map_err(Into::into)
        }
        None => bail!(
            "session {session} has calls that a crash interrupted; nothing was run\n  hint: resolve them: `jm recover --session {session} --on-recovery keep` (or `discard`, `undo`)"
        ),
    }
}

/// The same, with a face that asks: `ask` gets a title and the facts.
pub(crate) async fn asking(
    common: &Common,
    engine: &Engine,
    session: &SessionId,
    ask: impl AsyncFnOnce(&str, &str) -> Option<RecoveryChoice>,
) -> Result<()> {
    let found = engine.examine(session)?;
    if found.is_empty() {
        return Ok(());
    }
    let choice = match common.on_recovery {
        Some(OnRecovery::Keep) => Some(RecoveryChoice::Keep),
        Some(OnRecovery::Discard) => Some(RecoveryChoice::Discard),
        Some(OnRecovery::Undo) => Some(RecoveryChoice::Undo),
        Some(OnRecovery::Fail) => None,
        None => {
            let words = facts::in_words(&sessions::store()?, engine, session, &found);
            let facts = words.split_once('\n').map_or("", |(_, facts)| facts);
            let calls = numbers::plural(found.len(), "call");
            let title = format!("A crash interrupted {calls} of this session");
            ask(&title, facts).await
        }
    };
    match choice {
        Some(choice) => engine.recover(found, choice, &others(session)?).map_err(Into::into),
        None => bail!(
            "session {session} has calls that a crash interrupted; nothing was run\n  hint: resolve them \
             with `jm recover --session {session}`"
        ),
    }
}

pub(crate) fn run(common: &Common, listing: &ListingArgs) -> Result<u8> {
    let store = sessions::store()?;
    if common.session.is_some() {
        history::choose(&store, common, None)?;
    }
    let root = history::root(common)?;
    let views = store.unsettled().map_err(sessions::told)?;
    let ours = views.into_iter().filter(|view| match &common.session {
        Some(id) => *view.session == **id,
        None => view.root == root,
    });
    let mut settled = 0;
    let mut open = 0;
    for view in ours {
        let alive = view.owner.as_ref().is_some_and(|owner| sessions::identity(owner).is_alive());
        if alive {
            let text = format!("session {}: in use", view.session);
            if listing.json {
                print::note(&text)
            } else {
                print::line(&text)?
            }
            continue;
        }
        if settle(common, listing, &store, &view.session)? { settled += 1 } else { open += 1 }
    }
    if !listing.json {
        print::line(&summary(settled, open))?;
    }
    if open > 0 {
        print::note("  hint: resolve them with --on-recovery keep, discard or undo");
    }
    Ok(if open == 0 { exit::RAN } else { exit::DENIED })
}

fn summary(resolved: usize, open: usize) -> String {
    match (resolved, open) {
        (0, 0) => "Nothing to recover".to_owned(),
        (_, 0) => format!("Recovered {}", numbers::plural(resolved, "session")),
        (0, _) => format!("Not recovered: {}", numbers::plural(open, "session")),
        (_, _) => format!("Recovered {}, {open} left", numbers::plural(resolved, "session")),
    }
}

fn settle(
    common: &Common,
    listing: &ListingArgs,
    store: &Store,
    session: &SessionId,
) -> Result<bool> {
    let wired = wire::wire_with(common, |opening| sessions::open_named(common, session, opening))?;
    let found = wired.engine.examine(session)?;
    if listing.json {
        print::json(&facts::as_json(store, &wired.engine, session, &found))?;
    } else {
        print::text(&sanitize(&facts::in_words(store, &wired.engine, session, &found)))?;
    }
    let choice = decide(common)?;
    let settled = choice.is_some();
    if let Some(choice) = choice {
        wired.engine.recover(found, choice, &others(session)?)?;
    }
    wired.engine.close(None).map_err(sessions::told)?;
    Ok(settled)
}

/// The owners of other sessions whose recovery is still to come: their files are not ours to remove.
pub(crate) fn others(session: &SessionId) -> Result<Vec<u32>> {
    let views = sessions::store()?.unsettled().map_err(sessions::told)?;
    let others = views.into_iter().filter(|view| view.session != *session);
    Ok(others.filter_map(|view| view.owner).map(|owner| owner.pid).collect())
}

/// By flag, by the person, or not at all.
fn decide(common: &Common) -> Result<Option<RecoveryChoice>> {
    match common.on_recovery {
        Some(OnRecovery::Keep) => return Ok(Some(RecoveryChoice::Keep)),
        Some(OnRecovery::Discard) => return Ok(Some(RecoveryChoice::Discard)),
        Some(OnRecovery::Undo) => return Ok(Some(RecoveryChoice::Undo)),
        Some(OnRecovery::Fail) => return Ok(None),
        None => {}
    }
    let Some(mut terminal) = Terminal::open() else { return Ok(None) };
    loop {
        super::prompt::show(
            "Keep the results (k), discard them (d), undo their changes (u) or leave them for later (l)? [k/d/u/l] ",
        )?;
        let answer = terminal.answer()?;
        match answer.as_deref().map(str::to_lowercase).as_deref() {
            Some("k" | "keep") => return Ok(Some(RecoveryChoice::Keep)),
            Some("d" | "discard") => return Ok(Some(RecoveryChoice::Discard)),
            Some("u" | "undo") => return Ok(Some(RecoveryChoice::Undo)),
            Some("l" | "leave") | None => return Ok(None),
            Some(_) => super::prompt::show("Please answer k, d, u or l.\n")?,
        }
    }
}
