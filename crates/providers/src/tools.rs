//! The tools that a model is offered, shared by all requests of a conversation.
//!
//! Law: they do not change once they are here, so what a vendor reads of them is written once.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use jm_types::ToolDefinition;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::cache_retention::CacheRetention;

/// Sorted by their names: the order does not depend on how they were registered, so that a vendor's
/// prompt cache finds the same bytes again.
#[derive(Debug, Clone, Default)]
pub struct OfferedTools(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    sorted: Vec<ToolDefinition>,
    /// The text written last, and its dialect: a conversation rarely changes that.
    written: Mutex<Option<(Dialect, Written)>>,
}

/// OfferedTools as a vendor reads them.
pub(crate) type Written = Arc<RawValue>;

/// All that the writing of tools depends on besides themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic(CacheRetention),
    Responses,
    ChatStrict,
    ChatPlain,
    Gemini,
}

impl OfferedTools {
    pub(crate) fn named(&self, name: &str) -> Option<&ToolDefinition> {
        let place = self.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.get(place)
    }

    /// As `write` puts them for this dialect. Nothing where there are no tools.
    pub(crate) fn written<T: Serialize>(
        &self,
        dialect: Dialect,
        write: impl FnOnce(&[ToolDefinition]) -> T,
    ) -> serde_json::Result<Option<Written>> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, text)) = &*written
            && *known == dialect
        {
            return Ok(Some(Arc::clone(text)));
        }
        let text = Written::from(to_raw_value(&write(self))?);
        *written = Some((dialect, Arc::clone(&text)));
        Ok(Some(text))
    }
}

impl From<Vec<ToolDefinition>> for OfferedTools {
    fn from(mut tools: Vec<ToolDefinition>) -> Self {
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Self(Arc::new(Shared { sorted: tools, written: Mutex::default() }))
    }
}

impl Deref for OfferedTools {
    type Target = [ToolDefinition];

    fn deref(&self) -> &Self::Target {
        &self.0.sorted
    }
}

impl PartialEq for OfferedTools {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tool(name: &str) -> ToolDefinition {
        let (description, parameters) = (format!("{name}s"), json!({"type": "object"}));
        ToolDefinition { name: name.to_owned(), description, parameters, strict: None }
    }

    #[test]
    fn order_and_names_do_not_depend_on_how_they_came() {
        let (one, other) = (
            OfferedTools::from(vec![tool("b"), tool("a")]),
            OfferedTools::from(vec![tool("a"), tool("b")]),
        );
        assert_eq!(one, other);
        assert_eq!(one.named("b"), Some(&tool("b")));
        assert_eq!(one.named("c"), None);
    }

    #[test]
    fn written_once_for_each_dialect_in_turn_and_shared_by_copies() {
        let tools = OfferedTools::from(vec![tool("a")]);
        let write = |dialect, value: Value| {
            let text = tools.clone().written(dialect, |_| value).unwrap();
            text.unwrap().get().to_owned()
        };
        assert_eq!(write(Dialect::Gemini, json!(1)), "1");
        assert_eq!(write(Dialect::Gemini, json!(2)), "1", "not written again");
        assert_eq!(write(Dialect::Anthropic(CacheRetention::Short), json!(3)), "3");
        assert_eq!(write(Dialect::Anthropic(CacheRetention::Long), json!(4)), "4");
        assert_eq!(write(Dialect::Gemini, json!(5)), "5", "only the last is kept");
        assert!(OfferedTools::default().written(Dialect::Gemini, |_| json!(6)).unwrap().is_none());
    }
}
