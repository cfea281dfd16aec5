//! Which changes are in force, and so can be taken back.
//!
//! Law: an undo takes the calls it names out of force, undoing it puts them back; one that failed does
//! neither. What recovery took back, or never was, is not in force.

use std::collections::HashMap;
use std::path::Path;

use jm_store::{CallView, Changed, Place, Record, Store, StoreError};

use crate::recover::Choice;
use crate::undo::{UNDO, Which};

/// What undo is asked for: a change, or an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Change,
    Undo,
}

pub(crate) fn is_undo(call: &CallView) -> bool {
    call.call.name == UNDO
}

/// The undos of one session and what they did to each other.
struct Force {
    /// Calls that an undo has named, and whether they are in force now.
    state: HashMap<String, bool>,
    targets: HashMap<String, Vec<String>>,
}

impl Force {
    fn of(store: &Store, session: &str) -> Result<Self, StoreError> {
        let mut force = Self { state: HashMap::new(), targets: HashMap::new() };
        for (undo, of) in store.undone(session)? {
            let has_failed = store.result(&undo)?.is_some_and(|result| result.error.is_some());
            let of = if has_failed { Vec::new() } else { of };
            of.iter().for_each(|target| force.set(target, false));
            force.targets.insert(undo, of);
        }
        Ok(force)
    }

    fn set(&mut self, key: &str, value: bool) {
        self.state.insert(key.to_owned(), value);
        for target in self.targets.get(key).cloned().unwrap_or_default() {
            self.set(&target, !value);
        }
    }

    fn holds(&self, key: &str) -> bool {
        self.state.get(key).copied().unwrap_or(true)
    }

    /// An undo of an undo is a redo; redoing that again would be an ordinary undo.
    fn is_redo(&self, undo: &str) -> bool {
        let first = self.targets.get(undo).and_then(|of| of.first());
        first.is_some_and(|target| self.targets.contains_key(target))
    }

    fn kind(&self, key: &str) -> Option<Kind> {
        match self.targets.contains_key(key) {
            false => Some(Kind::Change),
            true if self.is_redo(key) => None,
            true => Some(Kind::Undo),
        }
    }
}

/// Recovery took its effects back already, or they never were. Where only its result was discarded, its
/// files have stayed.
fn is_taken_back(call: &CallView) -> bool {
    let taken_back = |(_, record): &(u64, Record)| match record {
        Record::Recovered { choice, .. } => choice == Choice::Undo.word(),
        _ => false,
    };
    match call.result().and_then(|(result, _)| result.error.as_deref()) {
        Some("interrupted") => true,
        Some("discarded") => call.records.iter().any(taken_back),
        Some(_) | None => false,
    }
}

fn has_effects(call: &CallView) -> bool {
    let effects = call.effects();
    !is_taken_back(call) && (!effects.files.is_empty() || effects.gap.is_some())
}

/// Changes of one session, or of all of a workspace, newest first, read as far as they are wanted.
struct Newest<'a, F> {
    store: &'a Store,
    page: F,
    waiting: std::vec::IntoIter<Changed>,
    next: Option<Option<Place>>,
    forces: HashMap<String, Force>,
    kind: Kind,
}

type Page = (Vec<Changed>, Option<Place>);

impl<'a, F: Fn(Option<&Place>) -> Result<Page, StoreError>> Newest<'a, F> {
    fn new(store: &'a Store, kind: Kind, page: F) -> Self {
        let (waiting, next) = (Vec::new().into_iter(), Some(None));
        Self { store, page, waiting, next, forces: HashMap::new(), kind }
    }

    fn read(&mut self) -> Result<Option<CallView>, StoreError> {
        loop {
            let Some(changed) = self.waiting.next() else {
                let Some(place) = self.next.take() else { return Ok(None) };
                let (page, further) = (self.page)(place.as_ref())?;
                self.waiting = page.into_iter();
                self.next = further.map(Some);
                continue;
            };
            if let Some(call) = self.judge(&changed)? {
                return Ok(Some(call));
            }
        }
    }

    /// The call, if it is in force and of the kind that is wanted.
    fn judge(
        &mut self,
        Changed { session, call, .. }: &Changed,
    ) -> Result<Option<CallView>, StoreError> {
        if !self.forces.contains_key(session) {
            self.forces.insert(session.clone(), Force::of(self.store, session)?);
        }
        let is_wanted = self
            .forces
            .get(session)
            .is_some_and(|force| force.holds(call) && force.kind(call) == Some(self.kind));
        if !is_wanted {
            return Ok(None);
        }
        Ok(self.store.call(session, call)?.filter(has_effects))
    }
}

impl<F: Fn(Option<&Place>) -> Result<Page, StoreError>> Iterator for Newest<'_, F> {
    type Item = Result<CallView, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The session of a workspace whose last change, or undo, in force is the newest of all.
pub fn newest_session(
    store: &Store,
    root: &Path,
    kind: Kind,
) -> Result<Option<String>, StoreError> {
    let mut newest = Newest::new(store, kind, |place| store.changed_under(root, place));
    let call = newest.next().transpose()?;
    // A key is its session's name, a dash and a number.
    let session = |call: CallView| Some(call.call.call.rsplit_once('-')?.0.to_owned());
    Ok(call.and_then(session))
}

/// Whether a session has a change, or an undo, in force.
pub fn has_any(store: &Store, session: &str, kind: Kind) -> Result<bool, StoreError> {
    let mut newest = Newest::new(store, kind, |place| store.changed_in(session, place));
    Ok(newest.next().transpose()?.is_some())
}

/// The calls that are asked for, newest first.
pub(crate) fn find(
    store: &Store,
    session: &str,
    which: &Which,
) -> Result<Vec<CallView>, StoreError> {
    let newest = |kind| Newest::new(store, kind, |place| store.changed_in(session, place));
    match which {
        Which::Last(count) => newest(Kind::Change).take(*count).collect(),
        Which::Undo => newest(Kind::Undo).take(1).collect(),
        Which::Call(key) => {
            let changed = Changed { session: session.to_owned(), call: key.clone(), at: 0 };
            let found = newest(Kind::Change).judge(&changed)?;
            Ok(found.into_iter().collect())
        }
        Which::To(key) => {
            let mut calls = Vec::new();
            for call in newest(Kind::Change) {
                calls.push(call?);
                if calls.last().is_some_and(|call| call.call.call == *key) {
                    return Ok(calls);
                }
            }
            Ok(Vec::new())
        }
    }
}
