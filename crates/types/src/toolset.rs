//! The names of the toolsets.

use serde::{Deserialize, Serialize};

/// The toolset that a session speaks, by name. Its tools and its envelope are the crates' that implement it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Toolset {
    /// The tools of the requirements, to the letter.
    Forge,
    /// The dialect of the editor package of that name.
    Forj,
    /// The dialect of Gemini's own client.
    Gemini,
    /// The dialect of the agent of that name.
    Ikigai,
    /// The dialect of the chat plugin of that name.
    Flemma,
    /// Journeyman's own tools.
    #[default]
    Standard,
}

impl Toolset {
    /// Every toolset.
    pub const ALL: &'static [Self] =
        &[Self::Forge, Self::Forj, Self::Gemini, Self::Ikigai, Self::Flemma, Self::Standard];

    /// The name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forge => "forge",
            Self::Forj => "forj",
            Self::Gemini => "gemini",
            Self::Ikigai => "ikigai",
            Self::Flemma => "flemma",
            Self::Standard => "standard",
        }
    }
}
