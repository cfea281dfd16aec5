//! Prompt caching, as far as a request can ask for it.

use serde::{Deserialize, Serialize};

/// How long a vendor should keep the prompt for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheRetention {
    None,
    #[default]
    Short,
    Long,
}
