//! Looking into a long history without reading all of it.
//!
//! Law: what is read is bounded by what is asked for, not by how much was ever recorded.

use std::collections::VecDeque;
use std::path::Path;

use jm_types::{CallKey, SessionId};
use rusqlite::{OptionalExtension, Row, params};

use crate::query::{Folded, session_view};
use crate::{CallView, Record, SessionView, Store, StoreError};

/// Records that are read at a time.
const PAGE: usize = 512;

/// Records of calls that changed something, or took something back.
pub(crate) const CHANGES: &str = "kind IN ('prepared', 'layered', 'tracked', 'undid')";

const ABOUT_CALL: &str = "SELECT seq, at, body FROM records INDEXED BY about
     WHERE call = ?1 AND call IS NOT NULL AND session = ?2 ORDER BY seq";

/// The position at which a search for changes goes on: before this moment, in this session, before this record.
#[derive(Debug, Clone)]
pub struct Place {
    at: i64,
    session: SessionId,
    seq: i64,
}

/// A call that changed something, by its session and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The session that made the change.
    pub session: SessionId,
    /// The key of the call in it.
    pub call: CallKey,
    /// Milliseconds since the epoch.
    pub at: u64,
}

impl Store {
    /// Finds a session by its id; `None` where the journal has none.
    pub fn session(&self, id: &str) -> Result<Option<SessionView>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT session, opened, root, owner, seq, last FROM sessions WHERE session = ?1",
        )?;
        select.query_row([id], session_view).optional().map_err(Into::into)
    }

    /// The session of a workspace that was worked with last.
    pub fn newest_session(&self, root: &Path) -> Result<Option<SessionView>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT session, opened, root, owner, seq, last FROM sessions WHERE root = ?1
             ORDER BY coalesce(last, opened) DESC, session LIMIT 1",
        )?;
        select.query_row([root.to_string_lossy()], session_view).optional().map_err(Into::into)
    }

    /// The sessions whose last batch was never sealed, newest first.
    pub fn unsettled(&self) -> Result<Vec<SessionView>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT session, opened, root, owner, seq, last FROM sessions
             WHERE sealed_at < opened_at ORDER BY coalesce(last, opened) DESC, session",
        )?;
        let views = select.query_map([], session_view)?;
        views.collect::<Result<_, _>>().map_err(Into::into)
    }

    /// The calls of a session in order, some at a time.
    pub fn walk_calls<'a>(&'a self, session: &'a SessionId) -> Calls<'a> {
        Calls {
            store: self,
            session,
            after: Some(0),
            folded: Folded::default(),
            whole: VecDeque::new(),
        }
    }

    /// One call, by its key.
    pub fn call(&self, session: &SessionId, key: &CallKey) -> Result<Option<CallView>, StoreError> {
        let about = self.about(session, key)?;
        let Some((first, ..)) = about.first() else { return Ok(None) };
        let mut folded = Folded::default();
        let opened = self.opening_of(session, key, *first)?;
        opened.into_iter().chain(about).for_each(|(seq, at, record)| folded.add(seq, at, record));
        Ok(folded.take().into_iter().find(|view| view.call.call == *key))
    }

    fn about(
        &self,
        session: &SessionId,
        key: &CallKey,
    ) -> Result<Vec<(i64, u64, Record)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(ABOUT_CALL)?;
        let mut rows = select.query([key.as_str(), session.as_str()])?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(parsed(row)?);
        }
        Ok(records)
    }

    /// The record that opened a call's batch: the nearest one before the first about the call.
    fn opening_of(
        &self,
        session: &SessionId,
        key: &CallKey,
        before: i64,
    ) -> Result<Option<(i64, u64, Record)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq, at, body, kind FROM records WHERE session = ?1 AND seq < ?2
             ORDER BY seq DESC",
        )?;
        let mut rows = select.query(params![session.as_str(), before])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, String>(3)? != "batch_opened" {
                continue;
            }
            let (seq, at, record) = parsed(row)?;
            if let Record::BatchOpened { calls, .. } = &record
                && calls.iter().any(|call| call.call == *key)
            {
                return Ok(Some((seq, at, record)));
            }
        }
        Ok(None)
    }

    /// The undos of a session, in order: the call that did it, and the calls it took back.
    pub fn undone(&self, session: &SessionId) -> Result<Vec<(CallKey, Vec<CallKey>)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(&undone_in_session())?;
        let bodies = select.query_map([session.as_str()], |row| row.get::<_, String>(0))?;
        let mut undone = Vec::new();
        for body in bodies {
            if let Record::Undid { call, of } = serde_json::from_str(&body?)? {
                undone.push((call, of));
            }
        }
        Ok(undone)
    }

    /// Calls of one session that changed something, newest first: some of them, and where to go on.
    pub fn changed_in(
        &self,
        session: &SessionId,
        before: Option<&Place>,
    ) -> Result<(Vec<Changed>, Option<Place>), StoreError> {
        let before = before.map_or(i64::MAX, |place| place.seq);
        self.changed(&changed_in_session(), params![session.as_str(), before])
    }

    /// The same for all sessions of a workspace.
    pub fn changed_under(
        &self,
        root: &Path,
        before: Option<&Place>,
    ) -> Result<(Vec<Changed>, Option<Place>), StoreError> {
        let first = Place { at: i64::MAX, session: SessionId::default(), seq: 0 };
        let Place { at, session, seq } = before.unwrap_or(&first);
        let root = root.to_string_lossy();
        self.changed(&changed_in_workspace(), params![at, session.as_str(), seq, root])
    }

    fn changed(
        &self,
        select: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<(Vec<Changed>, Option<Place>), StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(select)?;
        let mut rows = select.query(parameters)?;
        let (mut all, mut read, mut last): (Vec<Changed>, _, _) = (Vec::new(), 0, None);
        while let Some(row) = rows.next()? {
            let (session, call): (String, String) = (row.get(0)?, row.get(1)?);
            let (session, call) = (SessionId::from(session), CallKey::from(call));
            let (at, seq): (i64, i64) = (row.get(2)?, row.get(3)?);
            last = Some(Place { at, session: session.clone(), seq });
            read += 1;
            if all.last().is_none_or(|known| known.call != call) {
                all.push(Changed { session, call, at: at.unsigned_abs() });
            }
        }
        Ok((all, last.filter(|_| read == PAGE)))
    }
}

// Left to itself SQLite walks through all records of the session, because they are in order already.
fn changed_in_session() -> String {
    format!(
        "SELECT session, call, at, seq FROM records INDEXED BY changes
         WHERE session = ?1 AND seq < ?2 AND {CHANGES} ORDER BY seq DESC LIMIT {PAGE}"
    )
}

fn changed_in_workspace() -> String {
    format!(
        "SELECT session, call, at, seq FROM records INDEXED BY changes_by_time
         WHERE {CHANGES} AND (at, session, seq) < (?1, ?2, ?3)
           AND (SELECT root FROM sessions AS s WHERE s.session = records.session) = ?4
         ORDER BY at DESC, session DESC, seq DESC LIMIT {PAGE}"
    )
}

fn undone_in_session() -> String {
    format!(
        "SELECT body FROM records INDEXED BY changes
         WHERE session = ?1 AND {CHANGES} AND kind = 'undid' ORDER BY seq"
    )
}

fn parsed(row: &Row<'_>) -> Result<(i64, u64, Record), StoreError> {
    let body: String = row.get(2)?;
    Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs(), serde_json::from_str(&body)?))
}

/// A session's calls. A batch is settled before the next one is opened, but for one that waits for
/// results from outside; so no more is held than a batch, and what follows one that waits.
pub struct Calls<'a> {
    store: &'a Store,
    session: &'a SessionId,
    /// The last record that was read; nothing when all were.
    after: Option<i64>,
    folded: Folded,
    whole: VecDeque<CallView>,
}

impl std::fmt::Debug for Calls<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Calls<'_> {
    fn read(&mut self, after: i64) -> Result<(), StoreError> {
        let page = self.store.records_page(self.session, after, PAGE)?;
        self.after = page.last().map(|(seq, ..)| *seq).filter(|_| page.len() == PAGE);
        for (seq, at, record) in page {
            if let Record::BatchOpened { batch, .. } = &record
                && self.folded.batch() != Some(*batch)
                && !self.folded.awaits_results()
            {
                self.whole.extend(self.folded.take());
            }
            self.folded.add(seq, at, record);
        }
        if self.after.is_none() {
            self.whole.extend(self.folded.take());
        }
        Ok(())
    }
}

impl Iterator for Calls<'_> {
    type Item = Result<CallView, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.whole.is_empty() {
            if let Err(error) = self.read(self.after?) {
                self.after = None;
                return Some(Err(error));
            }
        }
        self.whole.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concurrent::{prepared_since, tracked_since};
    use crate::{CallRecord, Entry, Journal, Owner, Tracking};

    fn clock() -> u64 {
        1_000
    }

    fn open(path: &Path, session: &str) -> Journal {
        let owner = Owner { pid: 1, started: 1, boot: "b".to_owned() };
        Journal::open(path, &session.into(), Path::new("/w"), &owner, &|_| false, clock).unwrap()
    }

    /// So many calls, every `nth` of which changes something.
    fn fill(journal: &Journal, session: &str, calls: usize, nth: usize) {
        let mut records = Vec::new();
        for number in 1..=calls {
            let call = format!("{session}-{number}");
            let (id, name, arguments) = (String::new(), "run_command".to_owned(), String::new());
            let opened = CallRecord { call: call.clone().into(), id, name, arguments };
            let batch = number as u64;
            records.push(Record::BatchOpened { batch: batch.into(), calls: vec![opened] });
            if number.is_multiple_of(nth) {
                let tracking = Tracking { gap: Some("some".to_owned()), ..Tracking::default() };
                records.push(Record::Tracked { call: call.into(), tracking });
            }
            records.push(Record::BatchSealed { batch: batch.into() });
        }
        journal.append(&Entry { records, ..Entry::default() }).unwrap();
    }

    /// The keys of all pages.
    fn all(page: impl Fn(Option<&Place>) -> (Vec<Changed>, Option<Place>)) -> Vec<CallKey> {
        let (mut keys, mut place) = (Vec::new(), None);
        loop {
            let (found, next) = page(place.as_ref());
            keys.extend(found.into_iter().map(|changed| changed.call));
            if next.is_none() {
                return keys;
            }
            place = next;
        }
    }

    #[test]
    fn what_is_read_in_pages_is_what_is_read_at_once() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let journal = open(&path, "s");
        fill(&journal, "s", 3 * PAGE / 2, 1);
        let store = journal.store();
        let keys = |calls: Vec<CallView>| -> Vec<_> {
            calls.into_iter().map(|c| (c.call.call, c.records.len())).collect()
        };
        let whole = keys(store.calls(&"s".into()).unwrap());
        assert_eq!(keys(store.walk_calls(&"s".into()).map(Result::unwrap).collect()), whole);
        let newest: Vec<CallKey> = whole.iter().rev().map(|(key, _)| key.clone()).collect();
        assert_eq!(all(|place| store.changed_in(&"s".into(), place).unwrap()), newest);
        assert_eq!(all(|place| store.changed_under(Path::new("/w"), place).unwrap()), newest);
        assert!(all(|place| store.changed_under(Path::new("/x"), place).unwrap()).is_empty());
        let one = store.call(&"s".into(), &"s-700".into()).unwrap().unwrap();
        assert_eq!((one.batch.get(), one.records.len()), (700, 1));
    }

    /// FR-MODE-02: results that come after another batch, such as an undo, belong to their calls.
    #[test]
    fn the_results_of_a_batch_that_waits_may_come_late() {
        let scratch = tempfile::tempdir().unwrap();
        let journal = open(&scratch.path().join("journal.db"), "s");
        let opened = |batch: u64| {
            let (id, name, arguments) = (String::new(), "t".to_owned(), "{}".to_owned());
            let call = CallRecord { call: format!("s-{batch}").into(), id, name, arguments };
            Record::BatchOpened { batch: batch.into(), calls: vec![call] }
        };
        let started = |batch: u64| Record::Withdrawn { call: format!("s-{batch}").into() };
        let records = vec![
            opened(1),
            Record::BatchWaits { batch: 1.into() },
            opened(2),
            started(2),
            Record::BatchSealed { batch: 2.into() },
            started(1),
            Record::BatchSealed { batch: 1.into() },
            opened(3),
            started(3),
        ];
        journal.append(&Entry { records, ..Entry::default() }).unwrap();
        let binding = "s".into();
        let calls = journal.store().walk_calls(&binding).map(Result::unwrap);
        let told: Vec<(u64, usize)> =
            calls.map(|call| (call.batch.get(), call.records.len())).collect();
        assert_eq!(told, [(1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn changes_are_found_without_reading_what_is_between_them() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let journal = open(&path, "s");
        fill(&journal, "s", 100, 50);
        let connection = journal.store().connection();
        for (select, index) in [
            (changed_in_session(), "changes"),
            (changed_in_workspace(), "changes_by_time"),
            (undone_in_session(), "changes"),
            (prepared_since(), "changes_by_time"),
            (tracked_since(), "changes_by_time"),
            (ABOUT_CALL.to_owned(), "about"),
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {select}")).unwrap();
            let mut rows = plan.raw_query();
            let mut steps = String::new();
            while let Some(row) = rows.next().unwrap() {
                steps.push_str(&row.get::<_, String>(3).unwrap());
                steps.push('\n');
            }
            assert!(steps.contains(&format!("INDEX {index} ")), "{select}:\n{steps}");
            assert!(!steps.contains("TEMP B-TREE"), "{select}:\n{steps}");
        }
    }
}
