//! Calls under way: who waits for which answer, and what is said to all when the child is gone.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::Value;

use crate::protocol::{Failure, MessageId};

/// News for the one who waits for a call.
#[derive(Debug)]
pub(super) enum News {
    Done(Result<Value, Failure>),
    CancelAsked,
    /// The child is gone; how it ended.
    Died(String),
}

/// The calls that wait, until the child is gone.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    last_id: MessageId,
    calls: HashMap<MessageId, Sender<News>>,
    died: Option<String>,
}

impl Waiting {
    /// A place to wait; an error when there is no child any more.
    pub(super) fn begin(&mut self) -> Result<(MessageId, Sender<News>, Receiver<News>), String> {
        if let Some(how) = &self.died {
            return Err(how.clone());
        }
        self.last_id += 1;
        let (sender, receiver) = channel();
        self.calls.insert(self.last_id, sender.clone());
        Ok((self.last_id, sender, receiver))
    }

    /// The first result counts; one for nobody is dropped.
    pub(super) fn end(&mut self, id: MessageId, outcome: Result<Value, Failure>) {
        if let Some(sender) = self.calls.remove(&id) {
            // Whoever waited may have left.
            sender.send(News::Done(outcome)).unwrap_or_default();
        }
    }

    pub(super) fn leave(&mut self, id: MessageId) {
        self.calls.remove(&id);
    }

    pub(super) fn die(&mut self, how: &str) {
        self.died.get_or_insert_with(|| how.to_owned());
        for (_, sender) in self.calls.drain() {
            sender.send(News::Died(how.to_owned())).unwrap_or_default();
        }
    }

    pub(super) fn is_open(&self, id: MessageId) -> bool {
        self.calls.contains_key(&id)
    }

    pub(super) fn has_died(&self) -> bool {
        self.died.is_some()
    }
}
