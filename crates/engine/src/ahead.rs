//! The calls of a batch that run before another one: what a person is shown of that one is computed on
//! what they would leave (FR-APR-03).
//!
//! Law: this is a guess, made without doing anything. Before an approved call runs, the files are compared
//! with what it was shown for.

use std::sync::Arc;

use jm_tools::{CallContext, Expected, Foreseen, Seen};
use jm_types::Freshness;
use jm_types::ToolCall;

use crate::core::Core;
use crate::prepare::prepare;

#[derive(Debug, Default)]
pub(crate) struct CallsAhead {
    /// Those whose effect is not computed yet; most batches never need it.
    calls: Vec<ToolCall>,
    expected: Expected,
    /// The reads of the model by then.
    freshness: Option<Arc<Freshness>>,
    is_some: bool,
}

impl CallsAhead {
    /// Calls of which nothing can be foreseen.
    pub(crate) fn unknown() -> Self {
        Self { is_some: true, ..Self::default() }
    }

    pub(crate) fn push(&mut self, call: ToolCall) {
        self.calls.push(call);
        self.is_some = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_some
    }

    /// The scope for a look at the call behind them.
    pub(crate) fn scope(&mut self, core: &Core, now: &CallContext) -> CallContext {
        let first = || Arc::clone(&now.freshness);
        let mut freshness = self.freshness.take().unwrap_or_else(first);
        for call in std::mem::take(&mut self.calls) {
            let scope = CallContext {
                freshness: Arc::clone(&freshness),
                expected: self.expected.clone(),
                seen: Seen::default(),
                ..now.clone()
            };
            let prepared = prepare(core, &call);
            self.expected
                .add(prepared.map_or(Foreseen::NOTHING, |prepared| prepared.foresee(&scope)));
            for (path, record) in scope.seen.take() {
                Arc::make_mut(&mut freshness).record(path, record);
            }
        }
        self.freshness = Some(Arc::clone(&freshness));
        CallContext { freshness, expected: self.expected.clone(), ..now.clone() }
    }
}
