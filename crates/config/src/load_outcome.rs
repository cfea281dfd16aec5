//! A configuration with where each of its values comes from.

use std::collections::BTreeMap;

use crate::keys::KEYS;
use crate::origin::{SettingOrigin, Source};
use crate::rules::RuleOrigins;
use crate::settings::Config;

/// A configuration, and how it came to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The settings that are in force.
    pub config: Config,
    /// For each key who set it; more than one where lists add up.
    pub provenance: BTreeMap<&'static str, Vec<SettingOrigin>>,
    /// For each tool of the denylist who denied it: the lowest layer that wrote it down, and the
    /// built-in values only if none did.
    pub denials: BTreeMap<String, SettingOrigin>,
    /// The place of each rule.
    pub rule_origins: RuleOrigins,
    /// Settings of a project that is not trusted, which were passed over because they would loosen others.
    pub loosened: Vec<Loosening>,
    /// Notes for standard error, such as keys that an untrusted project may not set.
    pub warnings: Vec<String>,
}

/// A setting that only a trusted project may make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loosening {
    /// The file and line of the setting.
    pub origin: SettingOrigin,
    /// The key and the value as they stand in the file, escaped.
    pub setting: String,
}

impl Default for Loaded {
    fn default() -> Self {
        Self::of(Config::default())
    }
}

impl Loaded {
    fn of(config: Config) -> Self {
        let default = SettingOrigin::whole(Source::Default);
        let denied = config.tools.approval.denylist.iter().cloned();
        Self {
            provenance: KEYS.iter().map(|key| (key.path, vec![default.clone()])).collect(),
            denials: denied.map(|tool| (tool, default.clone())).collect(),
            rule_origins: RuleOrigins::new(),
            loosened: Vec::new(),
            warnings: Vec::new(),
            config,
        }
    }
}
