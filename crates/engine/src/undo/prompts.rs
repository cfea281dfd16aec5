//! Prompts of a session, and the calls that were made for each: the steps that undo goes by.
//!
//! Law: the calls that a model made between two prompts are one step; a batch that no model asked for is a
//! step of its own.

use std::collections::HashMap;

use jm_store::{CallView, Store, StoreError, TurnKind, TurnMark};
use jm_types::{BatchNumber, SessionId};

/// The step that a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UndoGroup {
    /// The prompt whose record stands here.
    Prompt {
        /// The prompt's place among the session's records.
        seq: i64,
    },
    /// A batch of its own, such as a `jm call`.
    Batch(BatchNumber),
}

/// One prompt of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptMark {
    /// From 1, in the order in which they were said.
    pub number: usize,
    /// Its place among the session's records.
    pub seq: i64,
    /// Milliseconds since the epoch.
    pub at: u64,
}

/// The prompts of a session and the batches that models asked for.
#[derive(Debug, Default)]
pub struct Prompts {
    prompts: Vec<PromptMark>,
    asked: HashMap<BatchNumber, i64>,
}

impl Prompts {
    /// Reads the prompts of a session from the journal.
    pub fn of(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        Ok(Self::from_marks(&store.turn_marks(session)?))
    }

    fn from_marks(marks: &[TurnMark]) -> Self {
        let mut all = Self::default();
        for mark in marks {
            match mark.kind {
                TurnKind::Prompt => {
                    let number = all.prompts.len() + 1;
                    all.prompts.push(PromptMark { number, seq: mark.seq, at: mark.at });
                }
                TurnKind::Asked(batch) => {
                    all.asked.entry(batch).or_insert(mark.seq);
                }
            }
        }
        all
    }

    /// The prompts in order.
    pub fn list(&self) -> &[PromptMark] {
        &self.prompts
    }

    /// The prompt whose record stands there.
    pub fn at(&self, seq: i64) -> Option<PromptMark> {
        self.prompts.iter().find(|prompt| prompt.seq == seq).copied()
    }

    /// The last prompt before a record.
    pub fn before(&self, seq: i64) -> Option<PromptMark> {
        let later = self.prompts.partition_point(|prompt| prompt.seq < seq);
        self.prompts[..later].last().copied()
    }

    /// The step that a call belongs to.
    pub fn group(&self, call: &CallView) -> UndoGroup {
        // The message of a model may be on record after its calls.
        let asked = self.asked.get(&call.batch).map(|asked| (*asked).min(call.seq));
        match asked.and_then(|seq| self.before(seq)) {
            Some(prompt) => UndoGroup::Prompt { seq: prompt.seq },
            None => UndoGroup::Batch(call.batch),
        }
    }
}

#[cfg(test)]
mod tests {
    use jm_store::CallRecord;

    use super::*;

    fn call(batch: u64, seq: i64) -> CallView {
        let (id, name, arguments) = (String::new(), "t".to_owned(), "{}".to_owned());
        let call = CallRecord { call: format!("s-{batch}").into(), id, name, arguments };
        CallView { batch: batch.into(), call, seq, at: 0, records: Vec::new() }
    }

    #[test]
    fn calls_of_a_model_belong_to_the_prompt_before_them() {
        let mark = |seq, kind| TurnMark { seq, at: 0, kind };
        let asked = |batch: u64| TurnKind::Asked(batch.into());
        let prompts = Prompts::from_marks(&[
            mark(5, TurnKind::Prompt),
            mark(8, asked(2)),
            mark(12, asked(3)),
            mark(20, TurnKind::Prompt),
            mark(24, asked(5)),
        ]);
        for (batch, seq, expected) in [
            (1, 2, UndoGroup::Batch(1.into())),
            (2, 7, UndoGroup::Prompt { seq: 5 }),
            (3, 11, UndoGroup::Prompt { seq: 5 }),
            (4, 15, UndoGroup::Batch(4.into())),
            (5, 23, UndoGroup::Prompt { seq: 20 }),
        ] {
            assert_eq!(prompts.group(&call(batch, seq)), expected, "batch {batch}");
        }
        assert_eq!(prompts.at(20).map(|prompt| prompt.number), Some(2));
    }
}
