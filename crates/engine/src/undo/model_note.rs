//! The note to a model that a person undid or redid its changes since it last spoke.
//!
//! Law: it follows from the journal's records alone, so a conversation that is read back says the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jm_store::{FileState, Store, StoreError};
use jm_types::SessionId;
use jm_types::text::one_line;

use super::by_products::is_by_product;

/// Names that are listed; more of them are counted.
const MOST_NAMES: usize = 20;

/// The note on undos between two places among the records, where there were any that changed something.
pub(crate) fn undone_note(
    store: &Store,
    session: &SessionId,
    (after, before): (i64, i64),
) -> Result<Option<String>, StoreError> {
    let mut states: BTreeMap<PathBuf, FileState> = BTreeMap::new();
    for mark in store.undone_after(session, after)? {
        if mark.seq >= before {
            break;
        }
        let call = store.call(session, &mark.call)?;
        let call = call.filter(|call| call.result().is_some_and(|(it, _)| it.error.is_none()));
        for effect in call.into_iter().flat_map(|call| call.effects().files) {
            if !effect.before.is_directory() && !effect.after.is_directory() {
                states.insert(effect.path, effect.after);
            }
        }
    }
    states.retain(|path, _| !is_by_product(path));
    if states.is_empty() {
        return Ok(None);
    }
    let root = store.session(session)?.map(|view| view.root).unwrap_or_default();
    Ok(Some(in_words(&root, &states)))
}

fn in_words(root: &Path, states: &BTreeMap<PathBuf, FileState>) -> String {
    let row = |(path, state): (&PathBuf, &FileState)| {
        let name = path.strip_prefix(root).unwrap_or(path);
        let what = if *state == FileState::Missing { "removed" } else { "restored" };
        format!("- {what}: {}\n", one_line(&name.to_string_lossy()))
    };
    let rows: String = states.iter().take(MOST_NAMES).map(row).collect();
    let more = match states.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    };
    format!(
        "[Note from jm: since your last turn the user changed these files with undo, redo or rewind. They are \
         not as you left them; read a file again before you edit it.\n{rows}{more}]"
    )
}
