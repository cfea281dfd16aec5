//! The messages of a conversation, shared with the requests that carry them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Message;

/// A list of messages whose clone costs nothing. One that is changed while somebody else holds it
/// becomes a list of its own first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Messages(Arc<Vec<Message>>);

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self(Arc::new(messages))
    }
}

impl Deref for Messages {
    type Target = Vec<Message>;

    fn deref(&self) -> &Vec<Message> {
        &self.0
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut Vec<Message> {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_holder_changes_the_other_does_not_see() {
        let mut said = Messages::from(vec![Message::user("one")]);
        let asked = said.clone();
        assert!(std::ptr::eq(said.as_ptr(), asked.as_ptr()), "shared until then");
        said.push(Message::user("two"));
        assert_eq!((said.len(), asked.len()), (2, 1));
        drop(asked);
        let place = said.as_ptr();
        said[0] = Message::user("first");
        assert!(std::ptr::eq(said.as_ptr(), place), "nobody else holds it, so nothing is copied");
    }
}
