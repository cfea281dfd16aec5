//! The damage of a journal that undo goes by: what is not as it was written is refused.

use jm_store::{Damage, Store};
use jm_types::{SessionId, ToolError};

use crate::own_call::UNDO;

/// A record that is not what was written may name the wrong file, or the wrong content for it.
pub(super) fn refuse_damage(store: &Store, session: &SessionId) -> Result<(), ToolError> {
    let damage = damage(store, session)?;
    let Some(first) = damage.first() else { return Ok(()) };
    let more = match damage.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Err(ToolError::failed(UNDO, format!("the journal is damaged: {first}{more}"))
        .hint("list the damage with `jm verify`; continue anyway with --despite-damage"))
}

/// The damage in the records that undo and recovery go by. Contents are checked when they are
/// used.
pub fn damage(store: &Store, session: &SessionId) -> Result<Vec<Damage>, ToolError> {
    let found = store.verify_session(session);
    let (_, damage) = found.map_err(|error| ToolError::failed(UNDO, error.to_string()))?;
    let matters = |damage: &Damage| match damage {
        Damage::File(_) | Damage::Record { .. } => true,
        Damage::Unreadable { .. } | Damage::Session { .. } => true,
        Damage::Read { .. } | Damage::Index { .. } | Damage::Content(_) => false,
    };
    Ok(damage.into_iter().filter(matters).collect())
}
