//! Results that the journal has and the document does not: after a crash, or a conflict of edits.
//!
//! Law: what ran is not run again. Its result goes into the document first.

use std::collections::HashSet;

use anyhow::Result;
use jm_chat::{AnswerState, NewResult};
use jm_store::{CallView, Record};
use jm_types::BatchNumber;

use super::{ChatEnd, Chatting};
use crate::sessions;

impl Chatting {
    /// Puts results of earlier runs into their places.
    pub(super) fn take_recovered(&mut self) -> Result<Option<ChatEnd>> {
        let mut batches: Vec<BatchNumber> = Vec::new();
        for view in self.undelivered()? {
            let Some(result) = self.result_of(&view)? else { continue };
            if batches.last() != Some(&view.batch) {
                batches.push(view.batch);
            }
            let call = &view.call;
            let open = self.paper.document.open_calls().into_iter().find(|open| {
                let known = &open.call;
                let is_open = !matches!(open.answer, AnswerState::Given { .. });
                is_open
                    && known.id == call.id
                    && known.name == call.name
                    && known.arguments == call.arguments
            });
            if let Some(open) = open {
                self.teller.note(&format!("{}: restored its recorded result", open.call.id))?;
                if let Some(end) = self.put(&open, Some(result))? {
                    return Ok(Some(end));
                }
            }
        }
        for batch in batches {
            self.driver.engine.core().recorder.delivered(batch)?;
        }
        Ok(None)
    }

    /// Calls of batches whose results were not written into the document, or not known to be.
    fn undelivered(&self) -> Result<Vec<CallView>> {
        let core = self.driver.engine.core();
        let Some(journal) = core.recorder.journal() else { return Ok(Vec::new()) };
        let (store, session) = (journal.store(), &self.driver.session.id);
        let records = store.records(session, 0).map_err(sessions::told)?;
        let delivered: HashSet<BatchNumber> = records
            .iter()
            .filter_map(|(_, _, record)| match record {
                Record::Delivered { batch } => Some(*batch),
                _ => None,
            })
            .collect();
        let calls = store.calls(session).map_err(sessions::told)?;
        Ok(calls.into_iter().filter(|view| !delivered.contains(&view.batch)).collect())
    }

    fn result_of(&self, view: &CallView) -> Result<Option<NewResult>> {
        let core = self.driver.engine.core();
        let (Some(journal), Some((result, _))) = (core.recorder.journal(), view.result()) else {
            return Ok(None);
        };
        let content = journal.store().content(result).map_err(sessions::told)?;
        Ok(Some(NewResult { is_error: result.error.is_some(), content, is_json: false }))
    }
}
