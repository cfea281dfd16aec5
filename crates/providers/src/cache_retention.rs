//! Prompt caching, as far as a request can ask for it.

use serde::{Deserialize, Serialize};

/// How long a vendor should keep the prompt for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheRetention {
    /// No cache marks.
    None,
    /// The vendor's ordinary time, minutes.
    #[default]
    Short,
    /// The longest time that the vendor offers.
    Long,
}
