//! Making room: what goes when there is too much.
//!
//! Law: outputs go before what undo needs, and the oldest first. What results and messages hold
//! stays, and so does everything that a session needs whose last batch is not settled. What went is
//! remembered as gone, so that it is not taken for damage.

use rusqlite::{Transaction, TransactionBehavior, params};

use crate::blobs::{self, Collected};
use crate::{Store, StoreError, output};

/// Contents that may be let go, those that no workspace holds now before those that one does.
const CANDIDATES: &str = "
    SELECT sha256 FROM blobs
    WHERE sha256 NOT IN (SELECT json_extract(body, '$.result.content_blob') FROM records
                         WHERE kind = 'finished' AND body LIKE '%\"content_blob\"%')
      AND sha256 NOT IN (SELECT json_extract(body, '$.content_blob') FROM records
                         WHERE kind = 'message' AND body LIKE '%\"content_blob\"%')
      AND sha256 NOT IN (SELECT sha256 FROM uses WHERE session IN
                         (SELECT session FROM sessions WHERE sealed_at < opened_at))
    ORDER BY sha256 IN (SELECT sha256 FROM files), added, sha256";

impl Store {
    /// Brings the contents below `most` bytes, as they are stored, as far as that is possible.
    pub fn shrink(&self, most: u64, now: u64) -> Result<Collected, StoreError> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let mut connection = self.connection();
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = blobs::stats(&step, "")?;
        while blobs::stats(&step, "")?.stored > most && output::release_oldest(&step, "", now)? {}
        let mut left = blobs::stats(&step, "")?.stored;
        if left > most {
            let names: Vec<String> = {
                let mut select = step.prepare(CANDIDATES)?;
                let names = select.query_map([], |row| row.get(0))?;
                names.collect::<Result<_, _>>()?
            };
            for name in names {
                if left <= most {
                    break;
                }
                left = left.saturating_sub(let_go(&step, &name, now)?);
            }
        }
        let after = blobs::stats(&step, "")?;
        step.commit()?;
        let (blobs, stored) = (before.count - after.count, before.stored - after.stored);
        let freed = Collected { blobs, stored, is_kept: false };
        Ok(Collected { is_kept: !blobs::give_back(&connection, freed)?, ..freed })
    }
}

/// Nobody needs it any more; what it took.
fn let_go(step: &Transaction<'_>, name: &str, now: i64) -> Result<u64, StoreError> {
    let stored: i64 =
        step.query_row("SELECT stored FROM blobs WHERE sha256 = ?1", [name], |row| row.get(0))?;
    for table in ["uses", "files", "outputs"] {
        step.execute(&format!("DELETE FROM {table} WHERE sha256 = ?1"), params![name])?;
    }
    blobs::release_unused(step, name, now)?;
    Ok(stored.unsigned_abs())
}
