//! The names of the toolsets.

use serde::{Deserialize, Serialize};

/// The toolset that a session speaks, by name. Its tools and its envelope are the crates' that implement it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Toolset {
    Forge,
    Forj,
    Gemini,
    Ikigai,
    Flemma,
    #[default]
    Standard,
}

impl Toolset {
    pub const ALL: &'static [Self] =
        &[Self::Forge, Self::Forj, Self::Gemini, Self::Ikigai, Self::Flemma, Self::Standard];

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
