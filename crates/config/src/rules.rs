//! Rules about calls as a configuration holds them: a text, and examples that it must and must not match.
//!
//! Law: a rule is text here. The meaning of the text belongs to the policy, which checks it where the tools are
//! known.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use crate::check::{has_only, text, texts_of, unexpected};
use crate::origin::{LoadReport, SettingOrigin};
use crate::settings::RuleEntry;
use crate::text::Setting;

/// The places of rules, by the key they stand under and their text.
pub type RuleOrigins = BTreeMap<(&'static str, String), SettingOrigin>;

const FIELDS: [&str; 3] = ["rule", "match", "not_match"];

/// Rules with their places, each text once.
pub(super) fn check(
    setting: &Setting<'_>,
    report: &mut LoadReport,
) -> Option<Vec<(RuleEntry, SettingOrigin)>> {
    let DeValue::Array(entries) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a list of rules", report);
    };
    let found: Vec<_> = entries
        .iter()
        .map(|value| {
            let rule = entry(setting, value, report)?;
            Some((rule, setting.place.at(value.span().start).origin()))
        })
        .collect();
    found.into_iter().collect()
}

fn entry(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<RuleEntry> {
    let fields = match value.get_ref() {
        DeValue::String(_) => {
            let rule = text(setting, value, report)?;
            return Some(RuleEntry { rule, ..RuleEntry::default() });
        }
        DeValue::Table(fields) => fields,
        _ => return unexpected(setting, value, "a rule, or a table with `rule`", report),
    };
    let is_whole = has_only(setting, fields, FIELDS, report);
    let Some(rule) = fields.get("rule") else {
        report.error(|| setting.error(value.span().start, "a rule needs `rule`", None));
        return None;
    };
    let mut examples = |field: &str| texts_of(setting, fields, field, report);
    let (hits, misses) = (examples("match"), examples("not_match"));
    let rule = text(setting, rule, report);
    is_whole.then_some(RuleEntry { rule: rule?, hits: hits?, misses: misses? })
}
