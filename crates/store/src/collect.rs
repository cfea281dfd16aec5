//! Garbage collection: contents without a use go, and the disk has their space back.
//!
//! Law: sessions at work come first. Everything happens in short transactions with a pause after each, so
//! that a write of theirs waits for one of these at most; what cannot be done in such steps is left for
//! another day, and that is said. No content goes in a step unless it is unneeded in that very step.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jm_types::{Digest, SessionId};
use rusqlite::{Connection, Transaction, params};

use crate::blobs::{self, UNUSED};
use crate::connection::checkpoint;
use crate::index_content::{IndexedContents, unindex};
use crate::{Owner, Record, Store, StoreError, output};

/// The result of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Contents that were removed.
    pub blobs: u64,
    /// Bytes that they took in the journal, compressed.
    pub stored: u64,
    /// The fate of those bytes.
    pub space: Space,
}

/// The fate of the space that contents took. What the disk does not have back is used for what comes
/// next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Space {
    /// The file is that much smaller.
    #[default]
    GivenBack,
    /// Giving it back needs room itself.
    DiskFull,
    /// Other processes kept writing; the next collection goes on.
    Busy,
    /// The journal was made by a version that could not give space back in steps; so many bytes are free
    /// in it.
    NeedsRewrite(u64),
}

/// The longest that one step works, and the shortest pause after it.
const STEP: Duration = Duration::from_millis(25);
const PAUSE: Duration = Duration::from_millis(2);

/// Pieces that go at a time: each takes up to a MiB.
const PIECES: usize = 4;

/// Pages of 4 KB that the first step gives back; the next ones fit the time that it took.
const FIRST_PAGES: i64 = 64;
const MOST_PAGES: i64 = 4096;

/// An old journal of so many bytes is rewritten in a fraction of a second.
const SMALL: u64 = 16 * 1024 * 1024;

/// Contents that may be let go, the oldest first.
const CANDIDATES: &str = "
    SELECT sha256 FROM blobs
    WHERE sha256 NOT IN (SELECT json_extract(body, '$.result.content_blob') FROM records
                         WHERE kind = 'finished' AND body LIKE '%\"content_blob\"%')
      AND sha256 NOT IN (SELECT json_extract(body, '$.content_blob') FROM records
                         WHERE kind = 'message' AND body LIKE '%\"content_blob\"%')
      AND sha256 NOT IN (SELECT sha256 FROM uses WHERE session IN
                         (SELECT session FROM sessions WHERE sealed_at < opened_at))
    ORDER BY added, sha256";

impl Store {
    /// Removes contents that no session uses, and the space they took, beside sessions at work.
    pub fn collect(&self, is_alive: &dyn Fn(&Owner) -> bool) -> Result<Collected, StoreError> {
        let mut freed = Collected::default();
        let removed = self.remove_unused(&mut freed).and_then(|()| self.remove_pieces());
        self.ended(freed, removed, is_alive)
    }

    /// Brings the contents below `most` bytes, as they are stored, as far as that is possible: outputs go
    /// before what undo needs, and the oldest first. What results and messages hold stays, and so does
    /// everything that a session needs whose last batch is not settled. What went is remembered as gone,
    /// so that it is not taken for damage.
    pub fn shrink(
        &self,
        most: u64,
        now: u64,
        is_alive: &dyn Fn(&Owner) -> bool,
    ) -> Result<Collected, StoreError> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let mut freed = Collected::default();
        let removed = self
            .release_outputs(most, now, &mut freed)
            .and_then(|()| self.let_go(most, now, &mut freed))
            .and_then(|()| self.remove_pieces());
        self.ended(freed, removed, is_alive)
    }

    /// A journal that stayed busy is no error: what was done is done.
    fn ended(
        &self,
        freed: Collected,
        removed: Result<(), StoreError>,
        is_alive: &dyn Fn(&Owner) -> bool,
    ) -> Result<Collected, StoreError> {
        let space = match removed.and_then(|()| self.give_back(is_alive)) {
            Err(StoreError::Busy) => Space::Busy,
            space => space?,
        };
        Ok(Collected { space, ..freed })
    }

    /// Repeats a step, each time in a transaction of its own, until it says that it is done.
    fn in_steps(
        &self,
        mut step: impl FnMut(&Transaction<'_>, Instant) -> Result<Progress, StoreError>,
    ) -> Result<(), StoreError> {
        loop {
            let began = Instant::now();
            let progress = self.write(|transaction| step(transaction, began + STEP))?;
            if progress == Progress::Done {
                return Ok(());
            }
            // As long as the step took, others have the journal for themselves.
            std::thread::sleep(began.elapsed().max(PAUSE));
        }
    }

    fn names(&self, select: &str) -> Result<std::vec::IntoIter<String>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare(select)?;
        let names = select.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<Vec<_>, _>>()?.into_iter())
    }

    fn remove_unused(&self, freed: &mut Collected) -> Result<(), StoreError> {
        let mut indexed = IndexedContents::default();
        let names = self.names(&format!("SELECT sha256 FROM blobs WHERE {UNUSED}"))?;
        let (_, names) = self.divided(names, &mut indexed)?;
        if names.is_empty() {
            return Ok(());
        }
        let mut names = names.into_iter();
        let delete = format!("DELETE FROM blobs WHERE sha256 = ?1 AND {UNUSED} RETURNING stored");
        self.in_steps(|step, until| {
            let mut delete = step.prepare_cached(&delete)?;
            for name in names.by_ref() {
                if indexed.hold(step, &name)? {
                    continue;
                }
                let mut gone = delete.query([&name])?;
                while let Some(row) = gone.next()? {
                    freed.blobs += 1;
                    freed.stored += row.get::<_, i64>(0)?.unsigned_abs();
                }
                if Instant::now() >= until {
                    return Ok(Progress::Goes);
                }
            }
            Ok(Progress::Done)
        })
    }

    /// Removes the pieces of contents that are not kept any more.
    fn remove_pieces(&self) -> Result<(), StoreError> {
        let orphans = "SELECT DISTINCT sha256 FROM chunks
                       WHERE sha256 NOT IN (SELECT sha256 FROM blobs)";
        let mut names = self.names(orphans)?.peekable();
        if names.peek().is_none() {
            return Ok(());
        }
        self.in_steps(|step, until| {
            while let Some(name) = names.peek() {
                if blobs::remove_pieces(step, name, PIECES)? < PIECES {
                    names.next();
                }
                if Instant::now() >= until {
                    return Ok(Progress::Goes);
                }
            }
            Ok(Progress::Done)
        })
    }

    fn release_outputs(
        &self,
        most: u64,
        now: i64,
        freed: &mut Collected,
    ) -> Result<(), StoreError> {
        if self.blob_stats()?.stored <= most {
            return Ok(());
        }
        let mut indexed = IndexedContents::default();
        self.in_steps(|step, until| {
            let mut left = blobs::stats(step, "")?.stored;
            while left > most {
                let released = output::release_oldest(step, "", now, &mut indexed)?;
                let Some(released) = released else { break };
                for (_, stored) in released {
                    left = left.saturating_sub(stored);
                    freed.blobs += 1;
                    freed.stored += stored;
                }
                if Instant::now() >= until {
                    return Ok(Progress::Goes);
                }
            }
            Ok(Progress::Done)
        })
    }

    fn let_go(&self, most: u64, now: i64, freed: &mut Collected) -> Result<(), StoreError> {
        if self.blob_stats()?.stored <= most {
            return Ok(());
        }
        let mut later = Later::now(&self.connection())?;
        let (held, others) =
            self.divided(self.names(CANDIDATES)?, &mut IndexedContents::default())?;
        // Those that no workspace holds now before those that one does.
        let mut names = others.into_iter().chain(held);
        self.in_steps(|step, until| {
            later.read(step)?;
            let mut left = blobs::stats(step, "")?.stored;
            let mut gone = HashSet::new();
            let mut progress = Progress::Done;
            for name in names.by_ref() {
                if left <= most {
                    break;
                }
                if !later.needs(step, &name)? {
                    let stored = forget(step, &name, now)?;
                    gone.extend(name.parse::<Digest>());
                    left = left.saturating_sub(stored);
                    freed.blobs += 1;
                    freed.stored += stored;
                }
                if Instant::now() >= until {
                    progress = Progress::Goes;
                    break;
                }
            }
            unindex(step, &gone)?;
            Ok(progress)
        })
    }

    /// The contents that an index names now, and the others.
    fn divided(
        &self,
        names: impl Iterator<Item = String>,
        indexed: &mut IndexedContents,
    ) -> Result<(Vec<String>, Vec<String>), StoreError> {
        let connection = self.connection();
        let (mut held, mut others) = (Vec::new(), Vec::new());
        for name in names {
            if indexed.hold(&connection, &name)? { &mut held } else { &mut others }.push(name);
        }
        Ok((held, others))
    }

    /// Gives the disk what is free, and the log's space too; readers that still need it keep it.
    fn give_back(&self, is_alive: &dyn Fn(&Owner) -> bool) -> Result<Space, StoreError> {
        let given = if self.is_incremental()? {
            self.vacuum_in_steps().map(|()| Space::GivenBack)
        } else {
            self.rewrite_if_small(is_alive)
        };
        let mut connection = self.connection();
        let _turn = self.turn();
        let copied = checkpoint(&mut connection).map_err(StoreError::from);
        match given.and_then(|space| copied.map(|()| space)) {
            Err(error) if error.is_full() => Ok(Space::DiskFull),
            outcome => outcome,
        }
    }

    fn is_incremental(&self) -> Result<bool, StoreError> {
        Ok(pragma(&self.connection(), "auto_vacuum")? == 2)
    }

    fn vacuum_in_steps(&self) -> Result<(), StoreError> {
        if pragma(&self.connection(), "freelist_count")? == 0 {
            return Ok(());
        }
        let mut pages = FIRST_PAGES;
        self.in_steps(|step, until| {
            let vacuum = format!("PRAGMA incremental_vacuum({pages})");
            let mut vacuum = step.prepare(&vacuum)?;
            let mut rows = vacuum.raw_query();
            // Each row is a page.
            while rows.next()?.is_some() {}
            let has_time = Instant::now() + STEP / 2 < until;
            pages = if has_time { pages * 2 } else { pages / 2 }.clamp(FIRST_PAGES, MOST_PAGES);
            let is_done = pragma(step, "freelist_count")? == 0;
            Ok(if is_done { Progress::Done } else { Progress::Goes })
        })
    }

    /// Only as a whole can an old journal give space back, and no process can write meanwhile.
    fn rewrite_if_small(&self, is_alive: &dyn Fn(&Owner) -> bool) -> Result<Space, StoreError> {
        let (free, used) = {
            let connection = self.connection();
            let page = pragma(&connection, "page_size")?.unsigned_abs();
            let free = pragma(&connection, "freelist_count")?.unsigned_abs();
            (free * page, pragma(&connection, "page_count")?.unsigned_abs() * page - free * page)
        };
        if free == 0 {
            return Ok(Space::GivenBack);
        }
        if used > SMALL || self.holder(is_alive)?.is_some() {
            return Ok(Space::NeedsRewrite(free));
        }
        self.rewrite()?;
        Ok(Space::GivenBack)
    }

    /// Writes the journal anew without its free space, as one that can give space back in steps. Nothing
    /// else can be recorded meanwhile, so a session at work is an error.
    pub fn compact(&self, is_alive: &dyn Fn(&Owner) -> bool) -> Result<(), StoreError> {
        if let Some((session, owner)) = self.holder(is_alive)? {
            return Err(StoreError::InUse { session, owner });
        }
        self.rewrite()?;
        checkpoint(&mut self.connection()).map_err(Into::into)
    }

    fn rewrite(&self) -> Result<(), StoreError> {
        let connection = self.connection();
        let _turn = self.turn();
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM").map_err(Into::into)
    }

    /// A session that a living process holds.
    fn holder(
        &self,
        is_alive: &dyn Fn(&Owner) -> bool,
    ) -> Result<Option<(SessionId, Owner)>, StoreError> {
        let held =
            self.sessions()?.into_iter().filter_map(|view| Some((view.session, view.owner?)));
        Ok(held.into_iter().find(|(_, owner)| is_alive(owner)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Goes,
    Done,
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).map_err(Into::into)
}

/// Removes every use of the content but those of indexes (`unindex`); the bytes that its pieces take.
pub(crate) fn forget(step: &Transaction<'_>, name: &str, now: i64) -> Result<u64, StoreError> {
    for table in ["uses", "outputs"] {
        let delete = format!("DELETE FROM {table} WHERE sha256 = ?1");
        step.prepare_cached(&delete)?.execute(params![name])?;
    }
    Ok(blobs::release_unused(step, name, now)?.unwrap_or(0))
}

/// The contents that sessions came to need after the candidates were chosen.
struct Later {
    /// The last record of each session that has been read.
    read: HashMap<String, i64>,
    needed: HashSet<String>,
}

impl Later {
    fn now(connection: &Connection) -> Result<Self, StoreError> {
        Ok(Self { read: ends(connection)?, needed: HashSet::new() })
    }

    /// Reads what was recorded since.
    fn read(&mut self, step: &Transaction<'_>) -> Result<(), StoreError> {
        for (session, end) in ends(step)? {
            let after = self.read.insert(session.clone(), end).unwrap_or(0);
            if end == after {
                continue;
            }
            let mut select = step.prepare_cached(
                "SELECT body FROM records WHERE session = ?1 AND seq > ?2 ORDER BY seq",
            )?;
            let bodies = select
                .query_map(params![session.as_str(), after], |row| row.get::<_, String>(0))?;
            for body in bodies {
                let record: Record = serde_json::from_str(&body?)?;
                self.needed.extend(record.contents().iter().map(ToString::to_string));
            }
        }
        Ok(())
    }

    fn needs(&self, step: &Transaction<'_>, name: &str) -> Result<bool, StoreError> {
        let mut unsettled = step.prepare_cached(
            "SELECT 1 FROM uses JOIN sessions USING (session)
             WHERE sha256 = ?1 AND sealed_at < opened_at",
        )?;
        Ok(self.needed.contains(name) || unsettled.exists([name])?)
    }
}

fn ends(connection: &Connection) -> Result<HashMap<String, i64>, StoreError> {
    let mut select = connection.prepare_cached("SELECT session, seq FROM sessions")?;
    let ends = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    ends.collect::<Result<_, _>>().map_err(Into::into)
}

#[cfg(test)]
mod tests;
