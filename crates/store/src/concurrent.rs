//! Concurrent changes: what other sessions did to the same directories meanwhile.

use std::path::{Path, PathBuf};

use jm_types::{CallKey, SessionId};
use rusqlite::params;

use crate::history::CHANGES;
use crate::{CallRecord, FileEffect, Owner, Record, Store, StoreError, Tracking};

/// A call of another session that was started and has no result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The call as it was received.
    pub call: CallRecord,
    /// When it started, in milliseconds since the epoch.
    pub started: u64,
    /// The process that runs it, or ran it when it died.
    pub owner: Owner,
}

/// A command of another session, and what had changed when it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedElsewhere {
    /// The key of the command's call.
    pub call: CallKey,
    /// Every path that it may have changed; `None` where it may have been any.
    pub paths: Option<Vec<PathBuf>>,
}

impl Store {
    /// The files that other sessions were about to change since a moment, in the order of time, but for
    /// changes that they had to withdraw.
    pub fn prepared_by_others(
        &self,
        session: &SessionId,
        since: u64,
    ) -> Result<Vec<FileEffect>, StoreError> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let connection = self.connection();
        let mut select = connection.prepare_cached(&prepared_since())?;
        let bodies =
            select.query_map(params![session.as_str(), since], |row| row.get::<_, String>(0))?;
        let mut effects = Vec::new();
        for body in bodies {
            if let Record::Prepared { files, .. } = serde_json::from_str(&body?)? {
                effects.extend(files);
            }
        }
        Ok(effects)
    }

    /// The commands of other sessions in these directories whose changes were looked for since a moment: they
    /// ran until then.
    pub fn tracked_by_others(
        &self,
        session: &SessionId,
        root: &Path,
        since: u64,
    ) -> Result<Vec<TrackedElsewhere>, StoreError> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let connection = self.connection();
        let mut select = connection.prepare_cached(&tracked_since())?;
        let mut rows = select.query(params![session.as_str(), since])?;
        let mut calls = Vec::new();
        while let Some(row) = rows.next()? {
            let (body, theirs): (String, String) = (row.get(0)?, row.get(1)?);
            if !share_files(root, Path::new(&theirs)) {
                continue;
            }
            match serde_json::from_str(&body)? {
                Record::Tracked { call, tracking } => {
                    let paths = tracking.gap.is_none().then(|| paths_of(&tracking));
                    calls.push(TrackedElsewhere { call, paths });
                }
                Record::Layered { call, layer } => {
                    calls.push(TrackedElsewhere { call, paths: layer.paths() });
                }
                _ => {}
            }
        }
        Ok(calls)
    }

    /// The calls of other sessions in these directories that were started, and whose changes were not looked for
    /// yet.
    pub fn running_elsewhere(
        &self,
        session: &SessionId,
        root: &Path,
    ) -> Result<Vec<Running>, StoreError> {
        let theirs = |view: &crate::SessionView| {
            view.session != *session && share_files(root, &view.root) && view.owner.is_some()
        };
        let mut running = Vec::new();
        for view in self.unsettled()?.into_iter().filter(theirs) {
            let calls = self.unfinished(&view.session)?;
            for call in calls.into_iter().filter(|call| call.result().is_none()) {
                let start = call.records.iter().rev().find_map(|(at, record)| match record {
                    Record::Started { process, .. } => Some(Some((*at, process.clone()))),
                    Record::Tracked { tracking, .. } if !tracking.is_ahead => Some(None),
                    _ => None,
                });
                let call = call.call;
                let start = start.flatten();
                running.extend(start.map(|(started, owner)| Running { call, started, owner }));
            }
        }
        Ok(running)
    }
}

/// All that had changed when a command ended, whoever did it.
fn paths_of(tracking: &Tracking) -> Vec<PathBuf> {
    let concurrent = tracking.concurrent.iter().flat_map(|found| &found.files);
    tracking.files.iter().chain(concurrent).map(|effect| effect.path.clone()).collect()
}

/// One directory is the other, or holds it.
fn share_files(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

pub(crate) fn prepared_since() -> String {
    format!(
        "SELECT body FROM records INDEXED BY changes_by_time
         WHERE {CHANGES} AND at >= ?2 AND session <> ?1 AND kind = 'prepared'
           AND (SELECT kind FROM records AS next WHERE next.call = records.call
                AND next.seq > records.seq ORDER BY next.seq LIMIT 1) IS NOT 'withdrawn'
         ORDER BY at, session, seq"
    )
}

pub(crate) fn tracked_since() -> String {
    format!(
        "SELECT body, (SELECT root FROM sessions AS s WHERE s.session = records.session)
         FROM records INDEXED BY changes_by_time
         WHERE {CHANGES} AND at >= ?2 AND session <> ?1 AND kind IN ('tracked', 'layered')
         ORDER BY at, session, seq"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, FileState, Journal};

    fn open(path: &Path, session: &str, root: &str, clock: fn() -> u64) -> Journal {
        let owner = Owner { pid: 1, started: 1, boot: "b".to_owned() };
        Journal::open(path, &session.into(), Path::new(root), &owner, &|_| false, clock).unwrap()
    }

    fn append(journal: &Journal, records: Vec<Record>) {
        journal.append(&Entry { records, ..Entry::default() }).unwrap();
    }

    /// A file that another session wanted to change and could not is not theirs.
    #[test]
    fn a_withdrawn_change_is_nobodys() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let theirs = open(&path, "s", "/w", || 1_000);
        let prepared = |call: &str, path: &str| {
            let (before, after) = (FileState::Missing, FileState::Directory { mode: 0o755 });
            let files = vec![FileEffect { path: path.into(), before, after, temporary: None }];
            Record::Prepared { call: call.to_owned().into(), files }
        };
        let withdrawn = |call: &str| Record::Withdrawn { call: call.to_owned().into() };
        let records = vec![
            prepared("s-1", "/w/kept"),
            prepared("s-1", "/w/withdrawn"),
            withdrawn("s-1"),
            prepared("s-2", "/w/tried"),
            withdrawn("s-2"),
            prepared("s-2", "/w/tried again"),
        ];
        append(&theirs, records);
        let told = |session: &str| -> Vec<PathBuf> {
            let effects = theirs.store().prepared_by_others(&session.into(), 0).unwrap();
            effects.into_iter().map(|effect| effect.path).collect()
        };
        assert_eq!(told("other"), [Path::new("/w/kept"), Path::new("/w/tried again")]);
        assert_eq!(told("s"), Vec::<PathBuf>::new());
    }

    #[test]
    fn commands_beside_each_other_are_found_by_directory_and_time() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let tracked = |call: &str| {
            let (before, after) = (FileState::Missing, FileState::Directory { mode: 0o755 });
            let path = PathBuf::from("/w/made");
            let files = vec![FileEffect { path, before, after, temporary: None }];
            let tracking = Tracking { files, ..Tracking::default() };
            vec![Record::Tracked { call: call.to_owned().into(), tracking }]
        };
        append(&open(&path, "early", "/w", || 1_000), tracked("early-1"));
        append(&open(&path, "beneath", "/w/sub", || 2_000), tracked("beneath-1"));
        append(&open(&path, "beside", "/wide", || 2_000), tracked("beside-1"));
        let own = open(&path, "own", "/w", || 3_000);
        append(&own, tracked("own-1"));
        let found = own.store().tracked_by_others(&"own".into(), Path::new("/w"), 1_500).unwrap();
        let paths = Some(vec![PathBuf::from("/w/made")]);
        assert_eq!(found, [TrackedElsewhere { call: "beneath-1".to_owned().into(), paths }]);
    }

    #[test]
    fn a_command_runs_from_its_start_to_the_look_after_it() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let theirs = open(&path, "s", "/w", || 1_000);
        let call = |key: &str| CallRecord {
            call: key.to_owned().into(),
            id: String::new(),
            name: "run_command".to_owned(),
            arguments: String::new(),
        };
        let process = Owner { pid: 7, started: 1, boot: String::new() };
        let running = || theirs.store().running_elsewhere(&"own".into(), Path::new("/w")).unwrap();
        append(&theirs, vec![Record::BatchOpened { batch: 1.into(), calls: vec![call("s-1")] }]);
        assert_eq!(running(), []);
        append(
            &theirs,
            vec![Record::Started { call: "s-1".to_owned().into(), process: process.clone() }],
        );
        let expected = Running { call: call("s-1"), started: 1_000, owner: process };
        assert_eq!(running(), std::slice::from_ref(&expected));
        let tracked = |is_ahead| {
            let tracking = Tracking { is_ahead, ..Tracking::default() };
            append(&theirs, vec![Record::Tracked { call: "s-1".to_owned().into(), tracking }]);
        };
        tracked(true);
        assert_eq!(running(), [expected]);
        assert_eq!(theirs.store().running_elsewhere(&"s".into(), Path::new("/w")).unwrap(), []);
        tracked(false);
        assert_eq!(running(), []);
    }
}
