//! Sessions in the journal: opening one, going on with one.
//!
//! Law: one process at a time works with a session; a second one is told who has it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jm_engine::{CallRecorder, Outputs, Session, recall};
use jm_process::spool::SpoolDir;
use jm_store::{Journal, Owner, Record, Store, StoreError, WriteQueue, WriteTurn};
use jm_system::clock::now_epoch_ms;
use jm_system::identity::ProcessIdentity;
use jm_system::queue::TicketQueue;
use jm_system::state::{StateDir, short_id};
use jm_types::SessionId;
use jm_types::text::one_line;

use crate::cli::Common;
use crate::faces::history;
use crate::locations::{self, STATE_HINT};
use crate::session_name;

const JOURNAL: &str = "journal.db";
const QUEUE: &str = "journal.queue";
const RESERVE: &str = "reserve";
/// Enough for the records that say that the disk is full.
const RESERVE_BYTES: u64 = 1024 * 1024;

/// The journal without a session: for looking, and for keeping it in order.
pub(crate) fn store() -> Result<Store> {
    let state = locations::state()?;
    let store = Store::open(&journal_file(&state)?).map_err(told)?;
    Ok(in_turn(store, &state))
}

/// The journal whose writers wait in a queue; where that cannot be had, they take their chance.
fn in_turn(store: Store, state: &StateDir) -> Store {
    match TicketQueue::open(&state.path().join(QUEUE)) {
        Ok(queue) => store.queued(Arc::new(Queue(queue))),
        Err(_) => store,
    }
}

#[derive(Debug)]
struct Queue(TicketQueue);

impl WriteQueue for Queue {
    fn turn(&self, patience: Duration) -> WriteTurn {
        Box::new(self.0.turn(patience))
    }
}

/// The session that a name means, where work goes on with one that is there.
pub(crate) fn existing(common: &Common, name: &str) -> Result<SessionId> {
    let root = history::root(common)?;
    let found = session_name::find(&store()?, &root, name)?;
    let found = found.map(|view| view.session);
    found.with_context(|| format!("No session {} (list: `jm sessions`)", one_line(name)))
}

fn journal_file(state: &StateDir) -> Result<PathBuf> {
    state.private_file(JOURNAL).map_err(|error| {
        let path = state.path().join(JOURNAL);
        anyhow::anyhow!("the journal {} cannot be used: {error}{STATE_HINT}", path.display())
    })
}

/// The folder of outputs while their commands run.
pub(crate) fn spools() -> Result<SpoolDir> {
    let state = locations::state()?;
    SpoolDir::open(&state).with_context(|| format!("state directory {}", state.path().display()))
}

/// A store's error with what to do about it.
pub(crate) fn told(error: StoreError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow::anyhow!("{error}\n  hint: {hint}"),
        None => anyhow::anyhow!("{error}"),
    }
}

/// The parts that a session is worked with.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) root: PathBuf,
    pub(crate) toolset: String,
    pub(crate) mode: String,
    /// How much is kept of one output, and of all.
    pub(crate) output_bytes: u64,
    pub(crate) outputs_bytes: u64,
}

impl Opening {
    fn record(&self) -> Record {
        Record::SessionOpened {
            root: self.root.clone(),
            toolset: self.toolset.clone(),
            mode: self.mode.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The session that the flags name, or a new one, and who records it.
pub(crate) fn open(common: &Common, opening: &Opening) -> Result<(Session, CallRecorder)> {
    if common.no_journal {
        if common.session.is_some() {
            bail!("--session needs the journal; remove --no-journal");
        }
        return Ok((Session::new(short_id()?), CallRecorder::none()));
    }
    let id = match &common.session {
        Some(name) => {
            let id = session_name::for_work(&store()?, &opening.root, name)?;
            if !is_well_formed(&id) {
                bail!("session id `{id}`: use 1 to 64 letters, digits, `-` or `_`");
            }
            id
        }
        None => short_id()?.into(),
    };
    open_named(common, &id, opening)
}

pub(crate) fn open_named(
    common: &Common,
    id: &SessionId,
    opening: &Opening,
) -> Result<(Session, CallRecorder)> {
    if opening.root.to_str().is_none() {
        let root = one_line(&opening.root.to_string_lossy());
        bail!(
            "the workspace path {root} is not UTF-8 and cannot be recorded\n  hint: rename the directory, or use --no-journal"
        );
    }
    let state = locations::state()?;
    let path = journal_file(&state)?;
    let own = owner(&ProcessIdentity::own());
    let open = || {
        let store = in_turn(Store::open(&path)?, &state);
        Journal::begin(store, id, &opening.root, &own, &is_alive, now_epoch_ms)
    };
    let journal = match open() {
        // The space that is kept for this very day, and then the log gives back its own.
        Err(error) if error.is_full() => {
            state.give_back(RESERVE);
            open()
        }
        opened => opened,
    };
    let journal = journal.map_err(told)?.open_with(opening.record());
    let (calls, batches) = journal.store().counts(id).map_err(told)?;
    let freshness = journal.freshness().map_err(told)?;
    let mut session = Session::restore(id.clone(), freshness, calls, batches);
    recall::resume_waiting(journal.store(), &mut session).map_err(told)?;
    // Without room for it the journal's own writes will say so.
    let reserve = state.reserve(RESERVE, RESERVE_BYTES).ok();
    let free = reserve.map(|reserve| Box::new(move || reserve.free()) as Box<dyn FnOnce() + Send>);
    let approver = common.answered_by.unwrap_or(if common.yes { "--yes" } else { "person" });
    let recorder = CallRecorder::new(journal, own, approver, free).keeping(Outputs {
        spools: spools()?,
        each: opening.output_bytes,
        all: opening.outputs_bytes,
    });
    Ok((session, recorder))
}

/// The space that is kept for a full disk; the next session that has room keeps it again.
pub(crate) fn give_back_reserve() -> Result<()> {
    locations::state()?.give_back(RESERVE);
    Ok(())
}

fn owner(identity: &ProcessIdentity) -> Owner {
    Owner { pid: identity.pid, started: identity.started, boot: identity.boot.clone() }
}

pub(crate) fn is_alive(owner: &Owner) -> bool {
    identity(owner).is_alive()
}

pub(crate) fn identity(owner: &Owner) -> ProcessIdentity {
    ProcessIdentity { pid: owner.pid, started: owner.started, boot: owner.boot.clone() }
}

fn is_well_formed(id: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&id.len()) && id.chars().all(letter)
}
