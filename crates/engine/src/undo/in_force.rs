//! The changes in force: those that can be taken back.
//!
//! Law: an undo takes the calls it names out of force, undoing it puts them back; one that failed does
//! neither. What recovery took back, or never was, is not in force.

use std::collections::HashMap;
use std::path::Path;

use jm_store::{CallView, Changed, Place, Record, Store, StoreError};
use jm_types::{CallKey, ErrorCode, SessionId};

use crate::recovery::RecoveryChoice;
use crate::undo_call::UndoArguments;

/// The calls to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The last so many.
    Last(usize),
    Call(CallKey),
    /// Everything from this call on.
    To(CallKey),
    /// The last undo.
    Undo,
}

/// The kind that undo is asked for: a change, or an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Change,
    Undo,
}

/// The purpose of a step that took something back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepRole {
    Change,
    Undo,
    Redo,
}

/// One undo or redo.
#[derive(Debug)]
struct UndoStep {
    role: StepRole,
    /// The calls that it took out of force: all that it was for, or none.
    of: Vec<CallKey>,
    /// The calls that it was for, where it could take back only a part of their changes.
    in_part: Vec<CallKey>,
    /// Those of its calls that are steps themselves. They came before it, so following them ends, whatever a
    /// damaged journal says.
    earlier: Vec<CallKey>,
}

/// The undos of one session and what they did to each other.
struct InForce {
    /// Calls that an undo has named, and whether they are in force now.
    state: HashMap<CallKey, bool>,
    steps: HashMap<CallKey, UndoStep>,
}

impl InForce {
    fn of(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        let mut force = Self { state: HashMap::new(), steps: HashMap::new() };
        for (key, of) in store.undone(session)? {
            let has_failed = store.result(&key)?.is_some_and(|result| result.error.is_some());
            let (of, in_part) = match (has_failed, of.is_empty()) {
                (true, _) => (Vec::new(), Vec::new()),
                (false, false) => (of, Vec::new()),
                (false, true) => (of, asked_for(store, session, &key)?),
            };
            force.add(key, of, in_part);
        }
        Ok(force)
    }

    fn add(&mut self, key: CallKey, of: Vec<CallKey>, in_part: Vec<CallKey>) {
        for target in &of {
            self.set(target, false);
            // What was redone in part before is now whole: taking back the call itself covers it.
            let is_redone =
                |step: &UndoStep| step.role == StepRole::Redo && step.in_part.contains(target);
            let redone = self.steps.iter().filter(|(_, step)| is_redone(step));
            self.state.extend(redone.map(|(key, _)| (key.clone(), false)));
        }
        let target = of.first().or(in_part.first());
        // What is redone in part is taken back like a change, so that is an undo too.
        let role = match target.map(|target| self.role(target)) {
            Some(StepRole::Undo) => StepRole::Redo,
            Some(StepRole::Change | StepRole::Redo) | None => StepRole::Undo,
        };
        let earlier = of.iter().filter(|target| self.steps.contains_key(*target)).cloned();
        let earlier = earlier.collect();
        self.steps.insert(key, UndoStep { role, of, in_part, earlier });
    }

    fn set(&mut self, key: &CallKey, value: bool) {
        self.state.insert(key.to_owned(), value);
        let Some(step) = self.steps.get(key) else { return };
        self.state.extend(step.of.iter().map(|target| (target.clone(), !value)));
        for target in step.earlier.clone() {
            self.set(&target, !value);
        }
    }

    fn holds(&self, key: &CallKey) -> bool {
        self.state.get(key).copied().unwrap_or(true)
    }

    /// Taking back a change is an undo, taking back an undo is a redo.
    fn role(&self, key: &CallKey) -> StepRole {
        self.steps.get(key).map_or(StepRole::Change, |step| step.role)
    }

    /// The kind of taking the call back; `None` for a whole redo, because that put the calls themselves
    /// back in force.
    fn kind(&self, key: &CallKey) -> Option<ChangeKind> {
        let is_in_part = self.steps.get(key).is_some_and(|step| !step.in_part.is_empty());
        match self.role(key) {
            StepRole::Change => Some(ChangeKind::Change),
            StepRole::Undo => Some(ChangeKind::Undo),
            StepRole::Redo => is_in_part.then_some(ChangeKind::Change),
        }
    }
}

/// The calls that an undo or a redo was for, as its own call names them.
fn asked_for(
    store: &Store,
    session: &SessionId,
    key: &CallKey,
) -> Result<Vec<CallKey>, StoreError> {
    let call = store.call(session, key)?;
    let asked =
        call.and_then(|call| serde_json::from_str::<UndoArguments>(&call.call.arguments).ok());
    Ok(asked.map(|asked| asked.of).unwrap_or_default())
}

/// Recovery took its effects back already, or they never were. Where only its result was discarded, its
/// files have stayed.
fn is_taken_back(call: &CallView) -> bool {
    let taken_back = |(_, record): &(u64, Record)| match record {
        Record::Recovered { choice, .. } => choice == RecoveryChoice::Undo.word(),
        _ => false,
    };
    match call.result().and_then(|(result, _)| result.error) {
        Some(ErrorCode::Interrupted) => true,
        Some(ErrorCode::Discarded) => call.records.iter().any(taken_back),
        Some(_) | None => false,
    }
}

fn has_effects(call: &CallView) -> bool {
    let effects = call.effects();
    let is_any = !effects.files.is_empty() || !effects.concurrent.is_empty();
    !is_taken_back(call) && (is_any || effects.gap.is_some())
}

/// Changes of one session, or of all of a workspace, newest first, read as far as they are wanted.
struct Newest<'a, F> {
    store: &'a Store,
    page: F,
    waiting: std::vec::IntoIter<Changed>,
    next: Option<Option<Place>>,
    forces: HashMap<SessionId, InForce>,
    kind: ChangeKind,
}

type ChangedPage = (Vec<Changed>, Option<Place>);

impl<'a, F: Fn(Option<&Place>) -> Result<ChangedPage, StoreError>> Newest<'a, F> {
    fn new(store: &'a Store, kind: ChangeKind, page: F) -> Self {
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
            self.forces.insert(session.clone(), InForce::of(self.store, session)?);
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

impl<F: Fn(Option<&Place>) -> Result<ChangedPage, StoreError>> Iterator for Newest<'_, F> {
    type Item = Result<CallView, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The session of a workspace whose last change, or undo, in force is the newest of all.
pub fn newest_session(
    store: &Store,
    root: &Path,
    kind: ChangeKind,
) -> Result<Option<SessionId>, StoreError> {
    let mut newest = Newest::new(store, kind, |place| store.changed_under(root, place));
    let call = newest.next().transpose()?;
    Ok(call.and_then(|call| call.call.call.session()))
}

/// Tells if a session has a change, or an undo, in force.
pub fn has_any(store: &Store, session: &SessionId, kind: ChangeKind) -> Result<bool, StoreError> {
    let mut newest = Newest::new(store, kind, |place| store.changed_in(session, place));
    Ok(newest.next().transpose()?.is_some())
}

/// The calls that are asked for, newest first.
pub(crate) fn find(
    store: &Store,
    session: &SessionId,
    which: &Which,
) -> Result<Vec<CallView>, StoreError> {
    let newest = |kind| Newest::new(store, kind, |place| store.changed_in(session, place));
    match which {
        Which::Last(count) => newest(ChangeKind::Change).take(*count).collect(),
        Which::Undo => newest(ChangeKind::Undo).take(1).collect(),
        Which::Call(key) => {
            let changed = Changed { session: session.to_owned(), call: key.clone(), at: 0 };
            let found = newest(ChangeKind::Change).judge(&changed)?;
            Ok(found.into_iter().collect())
        }
        Which::To(key) => {
            let mut calls = Vec::new();
            for call in newest(ChangeKind::Change) {
                calls.push(call?);
                if calls.last().is_some_and(|call| call.call.call == *key) {
                    return Ok(calls);
                }
            }
            Ok(Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps in order: who, what it took out of force, what it took back in part.
    fn force(steps: &[(&str, &[&str], &[&str])]) -> InForce {
        let mut force = InForce { state: HashMap::new(), steps: HashMap::new() };
        let owned = |keys: &[&str]| keys.iter().map(|key| CallKey::from(*key)).collect();
        for (key, of, in_part) in steps {
            force.add(CallKey::from(*key), owned(of), owned(in_part));
        }
        force
    }

    fn told(force: &InForce, keys: &[&str]) -> Vec<(bool, Option<ChangeKind>)> {
        let keys = keys.iter().map(|key| CallKey::from(*key));
        keys.map(|key| (force.holds(&key), force.kind(&key))).collect()
    }

    #[test]
    fn what_is_redone_in_part_is_a_change_until_it_is_whole() {
        let (change, undo) = (Some(ChangeKind::Change), Some(ChangeKind::Undo));
        let keys = ["1", "2", "3", "4"];
        let part = force(&[("2", &["1"], &[]), ("3", &[], &["2"])]);
        assert_eq!(told(&part, &keys[..3]), [(false, change), (true, undo), (true, change)]);
        let whole = force(&[("2", &["1"], &[]), ("3", &[], &["2"]), ("4", &["2"], &[])]);
        let expected = [(true, change), (false, undo), (false, change), (true, None)];
        assert_eq!(told(&whole, &keys), expected);
        let undone = force(&[("2", &["1"], &[]), ("3", &[], &["2"]), ("4", &["3"], &[])]);
        let expected = [(false, change), (true, undo), (false, change), (true, undo)];
        assert_eq!(told(&undone, &keys), expected);
    }

    #[test]
    fn steps_that_name_each_other_end() {
        let round = force(&[("1", &["2", "1"], &[]), ("2", &["1"], &[]), ("3", &["1", "2"], &[])]);
        assert_eq!(round.kind(&"3".into()), None);
    }
}
