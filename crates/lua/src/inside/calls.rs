//! Calls that have no result yet.
//!
//! Law: a call ends once. Whoever ends it second is told so, and nothing is sent.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use serde_json::Value;

use super::link::SharedLink;
use super::watch::Watch;
use crate::protocol::{Failure, FromChild, MessageId};

#[derive(Debug)]
pub(super) struct Calls {
    /// With the time at which each is over.
    open: BTreeMap<MessageId, Instant>,
    watch: Rc<Watch>,
}

impl Calls {
    pub(super) fn new(watch: Rc<Watch>) -> Self {
        Self { open: BTreeMap::new(), watch }
    }

    pub(super) fn begin(&mut self, id: MessageId, deadline: Instant) {
        self.open.insert(id, deadline);
    }

    /// Sends the outcome, unless the call has one already.
    pub(super) fn end(
        &mut self,
        link: &SharedLink,
        id: MessageId,
        outcome: Result<Value, Failure>,
    ) -> mlua::Result<bool> {
        if self.open.remove(&id).is_none() {
            return Ok(false);
        }
        // The error that stopped it is not the script's own.
        let outcome = match (outcome, self.watch.stopped_call(id)) {
            (Err(Failure::Error(_)), Some(stop)) => Err(stop.failure()),
            (outcome, _) => outcome,
        };
        let mut link = link.borrow_mut();
        if let Err(error) = link.send(&FromChild::Done { id, outcome }) {
            // Too long for a message: the call still has its result.
            let outcome = Err(Failure::Error(error.to_string()));
            link.send(&FromChild::Done { id, outcome }).map_err(mlua::Error::runtime)?;
        }
        Ok(true)
    }

    pub(super) fn is_open(&self, id: MessageId) -> bool {
        self.open.contains_key(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn late(&self, now: Instant) -> Vec<MessageId> {
        self.open.iter().filter(|(_, deadline)| **deadline <= now).map(|(id, _)| *id).collect()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.open.values().min().copied()
    }
}
