//! The names by which people mean a session: its id, the beginning of it, `@last`, its title.
//!
//! Law: what could mean two sessions means none, and says which they are.

use std::path::Path;

use anyhow::{Result, bail};
use jm_store::{SessionView, Store};
use jm_types::SessionId;
use jm_types::text::one_line;

use crate::sessions::told;

/// The newest conversation of this project.
pub(crate) const LAST: &str = "@last";

/// Fewer letters of an id are not taken for it where a new session could be meant as well.
const FEWEST_LETTERS: usize = 4;

/// The session that a name means; `None` where it means none.
pub(crate) fn find(store: &Store, root: &Path, name: &str) -> Result<Option<SessionView>> {
    if let Some(view) = store.session(name).map_err(told)? {
        return Ok(Some(view));
    }
    let all = store.sessions().map_err(told)?;
    if name == LAST {
        return newest_conversation(store, root, all);
    }
    let by_id = all.iter().filter(|view| !name.is_empty() && view.session.starts_with(name));
    if let Some(view) = only(name, by_id.cloned().collect())? {
        return Ok(Some(view));
    }
    let here: Vec<SessionView> = all.into_iter().filter(|view| view.root == root).collect();
    by_title(store, name, here)
}

/// The session that `--session` means, which may be one that is to be made: only a whole id, `@last`, a title that
/// a person gave, or enough of an id that the program made.
pub(crate) fn for_work(store: &Store, root: &Path, name: &SessionId) -> Result<SessionId> {
    if store.session(name).map_err(told)?.is_some() {
        return Ok(name.clone());
    }
    let all = store.sessions().map_err(told)?;
    if **name == *LAST {
        let newest = newest_conversation(store, root, all)?;
        let Some(view) = newest else { bail!("No conversation here yet, so there is no {LAST}") };
        return Ok(view.session);
    }
    let is_generated = |view: &&SessionView| {
        let id = view.session.as_str();
        matches!(id.len(), 8 | 19)
            && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if name.len() >= FEWEST_LETTERS {
        let by_id = all.iter().filter(is_generated).filter(|it| it.session.starts_with(&**name));
        if let Some(view) = only(name, by_id.cloned().collect())? {
            return Ok(view.session);
        }
    }
    let mut titled = Vec::new();
    for view in all.into_iter().filter(|view| view.root == root) {
        let title = store.session_facts(&view.session).map_err(told)?.title;
        if title.is_some_and(|title| title == **name) {
            titled.push(view);
        }
    }
    Ok(only(name, titled)?.map_or_else(|| name.clone(), |view| view.session))
}

fn newest_conversation(
    store: &Store,
    root: &Path,
    all: Vec<SessionView>,
) -> Result<Option<SessionView>> {
    for view in all.into_iter().filter(|view| view.root == root) {
        if store.has_messages(&view.session).map_err(told)? {
            return Ok(Some(view));
        }
    }
    Ok(None)
}

fn by_title(store: &Store, name: &str, here: Vec<SessionView>) -> Result<Option<SessionView>> {
    let wanted = name.to_lowercase();
    let (mut exact, mut begun) = (Vec::new(), Vec::new());
    for view in here {
        let title = title(store, &view.session)?.to_lowercase();
        if title == wanted {
            exact.push(view);
        } else if title.starts_with(&wanted) {
            begun.push(view);
        }
    }
    match only(name, exact)? {
        Some(view) => Ok(Some(view)),
        None => only(name, begun),
    }
}

/// The title of a session: the person's, or the first words of its first prompt.
pub(crate) fn title(store: &Store, session: &SessionId) -> Result<String> {
    let facts = store.session_facts(session).map_err(told)?;
    Ok(title_of(&facts))
}

pub(crate) fn title_of(facts: &jm_store::SessionFacts) -> String {
    let first = || facts.first_prompt.as_ref().map(crate::faces::story::words);
    let title = facts.title.clone().or_else(first).unwrap_or_default();
    let line = title.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    one_line(line.trim())
}

fn only(name: &str, mut found: Vec<SessionView>) -> Result<Option<SessionView>> {
    if found.len() > 1 {
        let ids: Vec<&str> = found.iter().take(5).map(|view| view.session.as_str()).collect();
        let name = one_line(name);
        bail!("`{name}` matches {} sessions: {}", found.len(), ids.join(", "));
    }
    Ok(found.pop())
}
