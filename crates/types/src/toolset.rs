//! The names of the toolsets; what each of them says and accepts is the tools' own affair.

use serde::{Deserialize, Serialize};

/// The dialect of tools that a session speaks.
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
