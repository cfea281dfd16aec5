//! A person's own presets of approval: a name, with the tools that it approves and denies.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::DeValue;

use crate::check::{has_only, text, texts_of, unexpected};
use crate::origin::{LoadReport, shown};
use crate::settings::PresetEntry;
use crate::text::Setting;

const FIELDS: [&str; 3] = ["name", "approve", "deny"];

/// Presets, each name once.
pub(super) fn check(setting: &Setting<'_>, report: &mut LoadReport) -> Option<Vec<PresetEntry>> {
    let DeValue::Array(entries) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a list of tables", report);
    };
    let found: Vec<_> = entries.iter().map(|value| entry(setting, value, report)).collect();
    let mut seen = BTreeSet::new();
    for (value, preset) in entries.iter().zip(&found) {
        if let Some(PresetEntry { name, .. }) = preset
            && !seen.insert(name)
        {
            report.error(|| {
                let what = format!("`{}` is defined twice", shown(name));
                setting.error(value.span().start, &what, None)
            });
        }
    }
    let is_every = seen.len() == entries.len();
    if is_every { found.into_iter().collect() } else { None }
}

fn entry(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<PresetEntry> {
    let DeValue::Table(fields) = value.get_ref() else {
        return unexpected(setting, value, "a table", report);
    };
    let is_whole = has_only(setting, fields, FIELDS, report);
    let Some(name) = fields.get("name") else {
        report.error(|| setting.error(value.span().start, "a preset needs `name`", None));
        return None;
    };
    let mut tools = |field: &str| texts_of(setting, fields, field, report);
    let (approve, deny) = (tools("approve"), tools("deny"));
    let name = text(setting, name, report)?.trim_start_matches('$').to_owned();
    is_whole.then_some(PresetEntry { name, approve: approve?, deny: deny? })
}
