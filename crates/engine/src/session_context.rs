//! The session's part of a call's context.

use std::sync::Arc;

use jm_types::Freshness;
use jm_types::SessionId;

/// The session's part of a context: who asks, and what the conversation has read.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) session: SessionId,
    pub(crate) freshness: Arc<Freshness>,
}
