//! The lease: the right to write to a session.
//!
//! Law: one process at a time. A lease carries a token that grows with every new owner; a writer
//! whose token is no longer the session's is refused, so a process that was thought dead can do no
//! harm when it wakes.

use jm_types::SessionId;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::StoreError;
use crate::identity::Owner;

/// Takes the session for `owner`, unless its present owner is alive. Until something is recorded, the
/// session belongs to the root of whoever opened it last.
pub(crate) fn acquire(
    step: &Transaction<'_>,
    session: &SessionId,
    root: &str,
    owner: &Owner,
    now: u64,
    is_alive: &dyn Fn(&Owner) -> bool,
) -> Result<i64, StoreError> {
    let found: Option<(i64, Option<String>)> = step
        .query_row(
            "SELECT token, owner FROM sessions WHERE session = ?1",
            [session.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let (token, holder) = found.unwrap_or((0, None));
    if let Some(holder) = holder.and_then(|text| serde_json::from_str::<Owner>(&text).ok())
        && holder != *owner
        && is_alive(&holder)
    {
        return Err(StoreError::InUse { session: session.to_owned(), owner: holder });
    }
    let owner = serde_json::to_string(owner)?;
    step.execute(
        "INSERT INTO sessions (session, opened, root, token, owner) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session) DO UPDATE SET token = ?4, owner = ?5,
             root = CASE WHEN seq = 0 THEN ?3 ELSE root END",
        params![session.as_str(), i64::try_from(now).unwrap_or(i64::MAX), root, token + 1, owner],
    )?;
    Ok(token + 1)
}

/// Gives the session back, if it is still ours.
pub(crate) fn release(
    connection: &Connection,
    session: &SessionId,
    token: i64,
) -> Result<(), StoreError> {
    connection.execute(
        "UPDATE sessions SET owner = NULL WHERE session = ?1 AND token = ?2",
        params![session.as_str(), token],
    )?;
    Ok(())
}
