//! The settings whose value is one word of a few.
//!
//! Law: `ALL` lists the words from the loosest to the tightest, so that "tighter" is a comparison
//! of places and is written nowhere else.

pub use jm_types::{ApprovalMode, Profile, ToolsMode, Toolset};
use serde::{Deserialize, Serialize};

/// A setting that is one word of a fixed few.
pub trait ConfigWord: Copy + PartialEq + 'static {
    /// Every word, the loosest first.
    const ALL: &'static [Self];

    /// As it stands in a configuration file.
    fn name(self) -> &'static str;
}

impl ConfigWord for ToolsMode {
    const ALL: &'static [Self] = &[Self::Enabled, Self::ParseOnly, Self::Disabled];

    fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::ParseOnly => "parse_only",
            Self::Enabled => "enabled",
        }
    }
}

impl ConfigWord for ApprovalMode {
    const ALL: &'static [Self] = &[Self::Auto, Self::Effects, Self::Prompt, Self::Deny];

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Effects => "effects",
            Self::Prompt => "prompt",
            Self::Deny => "deny",
        }
    }
}

impl ConfigWord for Profile {
    const ALL: &'static [Self] = &[Self::Standard, Self::Careful];

    fn name(self) -> &'static str {
        match self {
            Self::Careful => "careful",
            Self::Standard => "standard",
        }
    }
}

impl ConfigWord for Toolset {
    const ALL: &'static [Self] = Toolset::ALL;

    fn name(self) -> &'static str {
        Toolset::name(self)
    }
}

/// The back end that confines commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandBackend {
    /// No confinement; every command needs a person.
    None,
    /// Landlock rules on files, seccomp on the network.
    Landlock,
    /// The program `bwrap`.
    Bwrap,
    /// User, mount and network namespaces of our own.
    Namespaces,
    /// The strongest that works on this machine.
    #[default]
    Auto,
}

impl ConfigWord for CommandBackend {
    const ALL: &'static [Self] =
        &[Self::None, Self::Landlock, Self::Bwrap, Self::Namespaces, Self::Auto];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Bwrap => "bwrap",
            Self::Namespaces => "namespaces",
            Self::Auto => "auto",
        }
    }
}

/// The choice whether tools' commands run on layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandLayer {
    /// Commands change the workspace directly.
    Off,
    /// A layer is used on machines that can, and a note says so on others.
    #[default]
    Auto,
    /// A command that cannot have a layer is refused.
    On,
}

impl ConfigWord for CommandLayer {
    const ALL: &'static [Self] = &[Self::Off, Self::Auto, Self::On];

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::On => "on",
        }
    }
}

/// The way in which the screen calls for somebody who looks elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// The terminal's bell.
    #[default]
    Bell,
    /// A notification of the desktop, by OSC 9.
    Desktop,
    /// Silence.
    Off,
}

impl ConfigWord for Notify {
    const ALL: &'static [Self] = &[Self::Bell, Self::Desktop, Self::Off];

    fn name(self) -> &'static str {
        match self {
            Self::Bell => "bell",
            Self::Desktop => "desktop",
            Self::Off => "off",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    fn check<T: ConfigWord + Serialize>() {
        for word in T::ALL {
            assert_eq!(serde_json::to_value(word).unwrap(), word.name());
        }
    }

    #[test]
    fn names_are_those_of_the_serialised_form() {
        check::<ToolsMode>();
        check::<ApprovalMode>();
        check::<Profile>();
        check::<Toolset>();
        check::<CommandBackend>();
        check::<CommandLayer>();
    }
}
