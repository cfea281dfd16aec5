//! The changes in force: those that can be taken back.
//!
//! Law: an undo takes the calls it names out of force, undoing it puts them back; one that failed does
//! neither. What recovery took back, or never was, is not in force.

use std::collections::HashMap;
use std::path::Path;

use jm_store::{CallView, Changed, Place, Record, Store, StoreError};
use jm_types::{CallKey, ErrorCode, SessionId};

use super::by_products::makes_only_by_products;
use super::prompts::{Prompts, UndoGroup};
use crate::own_call::UndoArguments;
use crate::recovery::RecoveryChoice;

/// The calls to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The last so many prompts, each with all its calls.
    Last(usize),
    /// The call with this key.
    Call(CallKey),
    /// Everything from this call on.
    To(CallKey),
    /// Everything after this record, such as a prompt.
    Since(i64),
    /// The last undo.
    Undo,
}

/// The kind that undo is asked for: a change, or an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A tool or a command changed files.
    Change,
    /// An undo or redo changed files.
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
        // What a command changed directly beside its layer has stayed.
        Some(ErrorCode::Interrupted) => call.effects().gap.is_none(),
        Some(ErrorCode::Discarded) => call.records.iter().any(taken_back),
        Some(_) | None => false,
    }
}

fn has_effects(call: &CallView) -> bool {
    let effects = call.effects();
    let is_any = !effects.files.is_empty() || !effects.layers.is_empty();
    let is_any = is_any || !effects.concurrent.is_empty();
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

    fn next_changed(&mut self) -> Result<Option<Changed>, StoreError> {
        loop {
            if let Some(changed) = self.waiting.next() {
                return Ok(Some(changed));
            }
            let Some(place) = self.next.take() else { return Ok(None) };
            let (page, further) = (self.page)(place.as_ref())?;
            self.waiting = page.into_iter();
            self.next = further.map(Some);
        }
    }

    fn read(&mut self) -> Result<Option<CallView>, StoreError> {
        while let Some(changed) = self.next_changed()? {
            if let Some(call) = self.judge(&changed)? {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    fn force(&mut self, session: &SessionId) -> Result<&InForce, StoreError> {
        if !self.forces.contains_key(session) {
            self.forces.insert(session.clone(), InForce::of(self.store, session)?);
        }
        Ok(&self.forces[session])
    }

    /// Tells if the call changed something and is no undo, in force or not.
    fn is_change(&mut self, Changed { session, call, .. }: &Changed) -> Result<bool, StoreError> {
        if self.force(session)?.steps.contains_key(call) {
            return Ok(false);
        }
        Ok(self.store.call(session, call)?.is_some_and(|call| has_effects(&call)))
    }

    /// The call, if it is in force and of the kind that is wanted.
    fn judge(
        &mut self,
        Changed { session, call, .. }: &Changed,
    ) -> Result<Option<CallView>, StoreError> {
        let kind = self.kind;
        let force = self.force(session)?;
        if !force.holds(call) || force.kind(call) != Some(kind) {
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

/// The session of a workspace that undo or redo is about where none is named: for an undo the one that made the
/// newest change, for a redo the one that was changed or undone last. It stays the same one when nothing of it
/// is left in force, so that nobody walks into another session by repeating a command.
pub fn current_session(
    store: &Store,
    root: &Path,
    kind: ChangeKind,
) -> Result<Option<SessionId>, StoreError> {
    let page = |place: Option<&Place>| store.changed_under(root, place);
    let mut newest = Newest::new(store, kind, page);
    while let Some(changed) = newest.next_changed()? {
        let is_wanted = match kind {
            ChangeKind::Change => newest.is_change(&changed)?,
            ChangeKind::Undo => true,
        };
        if is_wanted {
            return Ok(Some(changed.session));
        }
    }
    Ok(None)
}

/// The session of a workspace whose last change, or undo, in force is the newest of all.
pub fn newest_in_force(
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

/// The changes of a session in force, newest first.
pub fn changes(store: &Store, session: &SessionId) -> Result<Vec<CallView>, StoreError> {
    find(store, session, &Which::Since(0))
}

/// The calls that are asked for, newest first.
pub(crate) fn find(
    store: &Store,
    session: &SessionId,
    which: &Which,
) -> Result<Vec<CallView>, StoreError> {
    let newest = |kind| Newest::new(store, kind, |place| store.changed_in(session, place));
    match which {
        Which::Last(count) => {
            last_prompts(&Prompts::of(store, session)?, *count, newest(ChangeKind::Change))
        }
        Which::Since(seq) => {
            let is_since = |call: &Result<CallView, StoreError>| {
                call.as_ref().map_or(true, |call| call.seq > *seq)
            };
            newest(ChangeKind::Change).take_while(is_since).collect()
        }
        Which::Undo => last_undo(newest(ChangeKind::Undo)),
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

/// The last undo, with those that were asked for together with it.
fn last_undo(
    newest: impl Iterator<Item = Result<CallView, StoreError>>,
) -> Result<Vec<CallView>, StoreError> {
    let mut chosen: Vec<CallView> = Vec::new();
    for call in newest {
        let call = call?;
        let with = with(&call);
        if chosen.first().is_some_and(|last| with.is_none() || self::with(last) != with) {
            break;
        }
        chosen.push(call);
    }
    Ok(chosen)
}

fn with(call: &CallView) -> Option<CallKey> {
    let asked: Option<UndoArguments> = serde_json::from_str(&call.call.arguments).ok();
    asked.and_then(|asked| asked.with)
}

/// The calls of the last `count` prompts. A prompt that left only by-products is no step of its own: its calls
/// go with those of the prompt before it.
fn last_prompts(
    prompts: &Prompts,
    count: usize,
    newest: impl Iterator<Item = Result<CallView, StoreError>>,
) -> Result<Vec<CallView>, StoreError> {
    let (mut chosen, mut waiting) = (Vec::new(), Vec::new());
    let (mut steps, mut last): (usize, Option<UndoGroup>) = (0, None);
    for call in newest {
        let call = call?;
        let group = prompts.group(&call);
        if makes_only_by_products(&call) {
            let is_within = last == Some(group);
            if is_within { &mut chosen } else { &mut waiting }.push(call);
            continue;
        }
        if last != Some(group) {
            if steps == count {
                break;
            }
            steps += 1;
            last = Some(group);
        }
        chosen.append(&mut waiting);
        chosen.push(call);
    }
    Ok(chosen)
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
