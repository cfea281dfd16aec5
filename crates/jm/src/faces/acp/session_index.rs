//! The sessions that a client can load, and those that were taken off that list.
//!
//! Law: taking a session off the list forgets nothing: the journal, and with it undo, stays as it is.

use std::path::Path;

use anyhow::{Result, bail};
use jm_acp::schema::{ListSessionsResponse, SessionId as AcpSessionId, SessionInfo};
use jm_system::clock::utc_moment;
use jm_types::text::one_line;

use crate::{locations, session_name, sessions};

/// The file of sessions that were taken off, one id a line.
const DELETED: &str = "acp-deleted";
const MOST_DELETED: u64 = 4 * 1024 * 1024;
/// Sessions of one page.
const PAGE: usize = 50;

/// A page of conversations, newest first; of one directory, where it is named.
pub(super) fn list(cwd: Option<&Path>, cursor: Option<&str>) -> Result<ListSessionsResponse> {
    let first: usize = match cursor {
        None => 0,
        Some(cursor) => match cursor.parse() {
            Ok(first) => first,
            Err(_) => bail!("the cursor is not one of ours"),
        },
    };
    let (store, deleted) = (sessions::store()?, deleted());
    let mut listed = Vec::new();
    for view in store.sessions().map_err(sessions::told)? {
        let is_elsewhere = cwd.is_some_and(|cwd| view.root != cwd);
        let is_deleted = deleted.iter().any(|id| *id == *view.session);
        if is_elsewhere
            || is_deleted
            || !store.has_messages(&view.session).map_err(sessions::told)?
        {
            continue;
        }
        let title = session_name::title(&store, &view.session)?;
        let at = utc_moment(view.last.unwrap_or(view.opened)).replace(' ', "T");
        let info = SessionInfo::new(view.session.to_string(), view.root);
        listed.push(info.title(title).updated_at(at));
    }
    let more = listed.len() > first + PAGE;
    let page: Vec<SessionInfo> = listed.into_iter().skip(first).take(PAGE).collect();
    Ok(ListSessionsResponse::new(page).next_cursor(more.then(|| (first + PAGE).to_string())))
}

/// Takes a session off the list.
pub(super) fn delete(session: &AcpSessionId) -> Result<()> {
    let id = session.to_string();
    if sessions::store()?.session(&id).map_err(sessions::told)?.is_none() {
        // One without a prompt was never written down, so there is nothing to take off.
        return Ok(());
    }
    let mut all = deleted();
    if !all.contains(&id) {
        all.push(one_line(&id));
        locations::state()?.write(DELETED, (all.join("\n") + "\n").as_bytes())?;
    }
    Ok(())
}

fn deleted() -> Vec<String> {
    let text = locations::state().ok().and_then(|state| state.read(DELETED, MOST_DELETED).ok());
    text.flatten().unwrap_or_default().lines().map(str::to_owned).collect()
}
