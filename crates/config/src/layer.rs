//! Layers of settings, laid over each other.
//!
//! Law: a higher layer wins, except that a project never takes a denial away, and that a project
//! the person has not trusted changes nothing but for the tighter.

use std::collections::BTreeSet;

use crate::allowed_tools::stays_denied;
use crate::keys::{CALLS, DENYLIST, ITERATIONS, MOST_QUOTA, PROFILE};
use crate::load_outcome::{Loaded, Loosening};
use crate::origin::{ConfigError, LoadReport, SettingOrigin, Source, escaped};
use crate::rules::RuleOrigins;
use crate::settings::{Config, RuleEntry};
use crate::text::{ConfigLayer, Setting};
use crate::types::{ProjectRight, ValueKind};
use crate::{check, environment, network, presets, rules, servers, text};

/// The person's trust in this project's files as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The person's own files, flags and environment: may set anything.
    Trusted,
    /// A project that was not trusted: may tighten and not loosen.
    Untrusted,
}

/// Lays layers, given in rising priority, over the built-in values. The environment comes after
/// every file and before every flag.
pub fn load(
    layers: &[ConfigLayer],
    env: &[(String, String)],
    trust: Trust,
) -> Result<Loaded, Vec<ConfigError>> {
    let mut report = LoadReport::default();
    let (flags, files): (Vec<_>, Vec<_>) =
        layers.iter().partition(|layer| layer.source == Source::Flag);
    let mut settings = Vec::new();
    for layer in files {
        settings.extend(text::settings(layer, &mut report));
    }
    settings.extend(environment::settings(env, &mut report));
    for layer in flags {
        settings.extend(text::settings(layer, &mut report));
    }

    // The profile decides what limits start from, so it is settled over all layers first. Then a
    // project's number is measured against the profile that holds, whoever chose it.
    let (profile, others): (Vec<_>, Vec<_>) =
        settings.into_iter().partition(|setting| setting.key.path == PROFILE);
    let mut overlay = Overlay { loaded: Loaded::default(), report, trust, refused: Vec::new() };
    profile.iter().for_each(|setting| overlay.lay(setting));
    overlay.settle_profile();
    others.iter().for_each(|setting| overlay.lay(setting));
    overlay.finish()
}

struct Overlay {
    loaded: Loaded,
    report: LoadReport,
    trust: Trust,
    /// Values that were passed over, told in the order of the file.
    refused: Vec<(SettingOrigin, String)>,
}

/// The right of a layer over the value below it.
#[derive(Clone, Copy, PartialEq)]
enum LayerGuard {
    Open,
    TightenOnly,
}

/// The outcome of setting a value.
enum Laid {
    Replaced,
    Added,
    Refused,
}

impl Overlay {
    fn lay(&mut self, setting: &Setting<'_>) {
        let Some(laid) = self.change(setting) else { return };
        let origin = setting.place.origin();
        match laid {
            Laid::Replaced => {
                self.loaded.provenance.insert(setting.key.path, vec![origin]);
            }
            Laid::Added => {
                self.loaded.provenance.entry(setting.key.path).or_default().push(origin);
            }
            Laid::Refused => {
                let warning = format!(
                    "{origin}: `{}` would loosen your settings and is ignored (allow it: `jm trust`)",
                    setting.name
                );
                let value = setting.place.text.get(setting.value.span()).unwrap_or_default();
                let setting = format!("{} = {}", setting.name, escaped(value));
                self.loaded.loosened.push(Loosening { origin: origin.clone(), setting });
                self.refused.push((origin, warning));
            }
        }
    }

    /// Checks the value and puts it in its place; nothing if it is faulty.
    fn change(&mut self, setting: &Setting<'_>) -> Option<Laid> {
        let guard = self.guard(setting);
        let report = &mut self.report;
        let config = &mut self.loaded.config;
        match setting.key.kind {
            ValueKind::Toggle { field, loose } => {
                let new = check::toggle(setting, report)?;
                Some(put(guard, field(config), new, |_, new| *new == loose))
            }
            ValueKind::Number { field, lowest, highest } => {
                let new = check::number(setting, lowest, highest, report)?;
                Some(put(guard, field(config), new, |old, new| new > old))
            }
            ValueKind::Quota { field } => {
                let new = check::number(setting, 0, MOST_QUOTA, report)?;
                Some(put(guard, field(config), new, |_, _| true))
            }
            ValueKind::Name { field } => {
                let new = check::name(setting, report)?;
                Some(put(guard, field(config), new, |_, _| true))
            }
            ValueKind::Word { field, project } => {
                let slot = field(config);
                let words = slot.words();
                let new = check::word(setting, &words, report)?;
                let rank = |word: &&str| words.iter().position(|known| known == word);
                let mut word = slot.word();
                let laid = put(guard, &mut word, new, |old, new| match project {
                    ProjectRight::MayTighten => rank(new) < rank(old),
                    ProjectRight::MayNotSet => true,
                });
                slot.choose(word);
                Some(laid)
            }
            ValueKind::List { field, joining, fewest } => {
                let new = check::list(setting, fewest, report)?;
                let laid = if joining.adds() {
                    add(field(config), &new)
                } else {
                    put(guard, field(config), new.clone(), |_, _| true)
                };
                self.note_denials(setting, &laid, new);
                Some(laid)
            }
            ValueKind::Network { field } => {
                let new = network::check(setting, report)?;
                let slot = field(config);
                let new = network::joined(slot, new, setting.place.source);
                Some(put(guard, slot, new, network::is_looser))
            }
            ValueKind::Definitions { field } => {
                let new = check::definitions(setting, report)?;
                Some(put(guard, field(config), new, |_, _| true))
            }
            ValueKind::Presets { field } => {
                let new = presets::check(setting, report)?;
                Some(put(guard, field(config), new, |_, _| true))
            }
            ValueKind::Servers { field } => {
                let new = servers::check(setting, report)?;
                if guard == LayerGuard::TightenOnly && !new.is_empty() {
                    return Some(Laid::Refused);
                }
                field(config).extend(new);
                Some(Laid::Added)
            }
            ValueKind::Rules { field, loosens } => {
                let new = rules::check(setting, report)?;
                if guard == LayerGuard::TightenOnly && loosens && !new.is_empty() {
                    return Some(Laid::Refused);
                }
                Some(add_rules(field(config), setting, new, &mut self.loaded.rule_origins))
            }
        }
    }

    fn guard(&self, setting: &Setting<'_>) -> LayerGuard {
        match self.trust {
            Trust::Untrusted if matches!(setting.place.source, Source::Project(_)) => {
                LayerGuard::TightenOnly
            }
            Trust::Untrusted | Trust::Trusted => LayerGuard::Open,
        }
    }

    fn note_denials(&mut self, setting: &Setting<'_>, laid: &Laid, tools: Vec<String>) {
        if setting.key.path != DENYLIST {
            return;
        }
        if matches!(laid, Laid::Replaced) {
            self.loaded.denials.clear();
        }
        let origin = setting.place.origin();
        for tool in tools {
            let denied_by = self.loaded.denials.entry(tool).or_insert_with(|| origin.clone());
            if denied_by.source == Source::Default {
                *denied_by = origin.clone();
            }
        }
    }

    /// Starts the limits from the profile, and says that they come from there.
    fn settle_profile(&mut self) {
        let profile = self.loaded.config.profile;
        self.loaded.config = Config::of(profile);
        let Some(origins) = self.loaded.provenance.get(PROFILE).cloned() else { return };
        for path in [CALLS, ITERATIONS] {
            self.loaded.provenance.insert(path, origins.clone());
        }
    }

    fn finish(mut self) -> Result<Loaded, Vec<ConfigError>> {
        if self.report.has_errors() {
            return Err(self.report.into_errors());
        }
        self.refused.sort();
        self.loaded.loosened.sort();
        self.report.warnings.extend(self.refused.into_iter().map(|(_, warning)| warning));
        self.loaded.opt_in();
        self.loaded.opt_in_by_rules();
        let approval = &self.loaded.config.tools.approval;
        let by_rule = approval.allow.iter().map(RuleEntry::tool).collect::<BTreeSet<_>>();
        for tool in approval.allowlist.iter().map(String::as_str).chain(by_rule) {
            if let Some(denied_by) = self.loaded.denials.get(tool) {
                self.report.warnings.push(stays_denied(tool, denied_by));
            }
        }
        self.loaded.warnings = self.report.warnings;
        Ok(self.loaded)
    }
}

fn put<T: PartialEq>(
    guard: LayerGuard,
    slot: &mut T,
    new: T,
    looser: impl Fn(&T, &T) -> bool,
) -> Laid {
    // What is the same as before loosens nothing.
    if guard == LayerGuard::TightenOnly && *slot != new && looser(slot, &new) {
        return Laid::Refused;
    }
    *slot = new;
    Laid::Replaced
}

/// A rule that is there already stays where it was first written.
fn add_rules(
    slot: &mut Vec<RuleEntry>,
    setting: &Setting<'_>,
    new: Vec<(RuleEntry, SettingOrigin)>,
    origins: &mut RuleOrigins,
) -> Laid {
    for (entry, origin) in new {
        if !slot.contains(&entry) {
            origins.entry((setting.key.path, entry.rule.clone())).or_insert(origin);
            slot.push(entry);
        }
    }
    Laid::Added
}

fn add(slot: &mut Vec<String>, new: &[String]) -> Laid {
    let known: BTreeSet<String> = slot.iter().cloned().collect();
    slot.extend(new.iter().filter(|entry| !known.contains(*entry)).cloned());
    Laid::Added
}
