//! Configuration: the layers of person, project, environment and command line as one value.
//!
//! Laws: no I/O, texts come in and a [`Config`] goes out; a text with any fault gives no
//! configuration at all, and every fault is told with its place; a project that the person has not
//! trusted can tighten the settings and never loosen them.

#![warn(missing_docs)]

mod allowed_tools;
mod check;
mod environment;
mod keys;
mod layer;
mod load_outcome;
mod modes;
mod nearest;
mod network;
mod origin;
mod presets;
mod render;
mod rules;
mod servers;
mod settings;
mod text;
mod types;

pub use allowed_tools::AllowedAndDenied;
pub use keys::{ALLOW_RULES, ASK_RULES, AUTO_APPROVE, ConfigKey, DENY_RULES, KEYS};
pub use layer::{Trust, load};
pub use load_outcome::{Loaded, Loosening};
pub use modes::{
    ApprovalMode, CommandBackend, CommandLayer, ConfigWord, Notify, Profile, ToolsMode, Toolset,
};
pub use origin::{ConfigError, Position, SettingOrigin, Source};
pub use render::{reference, render, render_json, render_keys};
pub use rules::RuleOrigins;
pub use servers::{ServerEntry, Servers, check_server_name};
pub use settings::{
    ApplyPatchSection, ApprovalSection, CommandSection, Config, Definition, EnvironmentSection,
    ExternalSection, ListDirectorySection, LuaSection, OutputSection, PresetEntry, ReadFileSection,
    RuleEntry, SandboxSection, TimeoutSection, ToolsSection,
};
pub use text::ConfigLayer;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trust_tests;
