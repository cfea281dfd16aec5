//! From a value as it was written to a value that is right.
//!
//! Law: each function tells everything that is wrong with a setting, and returns a value only if
//! nothing is.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use crate::nearest::{did_you_mean, nearest};
use crate::origin::{LoadReport, shown};
use crate::settings::Definition;
use crate::text::{Setting, kind_of};

pub(super) fn toggle(setting: &Setting<'_>, report: &mut LoadReport) -> Option<bool> {
    match setting.value.get_ref() {
        DeValue::Boolean(value) => Some(*value),
        _ => unexpected(setting, &setting.value, "`true` or `false`", report),
    }
}

pub(super) fn number(
    setting: &Setting<'_>,
    lowest: u64,
    highest: u64,
    report: &mut LoadReport,
) -> Option<u64> {
    let DeValue::Integer(written) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a whole number", report);
    };
    let number = u64::from_str_radix(written.as_str(), written.radix())
        .ok()
        .filter(|number| (lowest..=highest).contains(number));
    if number.is_none() {
        report.error(|| {
            let found = shown(&written.to_string());
            let what = format!("expected {lowest} to {highest}, found {found}");
            setting.error(setting.value.span().start, &what, None)
        });
    }
    number
}

/// Any string on one line.
pub(super) fn name(setting: &Setting<'_>, report: &mut LoadReport) -> Option<String> {
    match setting.value.get_ref() {
        DeValue::String(text) if text.contains(char::is_control) => {
            unexpected(setting, &setting.value, "a string on one line", report)
        }
        DeValue::String(text) => Some(text.trim().to_owned()),
        _ => unexpected(setting, &setting.value, "a string", report),
    }
}

/// One of the words.
pub(super) fn word(
    setting: &Setting<'_>,
    words: &[&'static str],
    report: &mut LoadReport,
) -> Option<&'static str> {
    let DeValue::String(written) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a string", report);
    };
    let word = words.iter().find(|word| *word == written).copied();
    if word.is_none() {
        report.error(|| {
            let hint = match nearest(written, words.iter().copied()) {
                Some(near) => did_you_mean(near),
                None => format!("known: `{}`", words.join("`, `")),
            };
            let what = format!("unknown value `{}`", shown(written));
            setting.error(setting.value.span().start, &what, Some(hint))
        });
    }
    word
}

/// Strings, none of them blank, each once.
pub(super) fn list(
    setting: &Setting<'_>,
    fewest: usize,
    report: &mut LoadReport,
) -> Option<Vec<String>> {
    let DeValue::Array(entries) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a list of strings", report);
    };
    if entries.len() < fewest {
        report.error(|| {
            setting.error(setting.value.span().start, "expected at least one entry", None)
        });
        return None;
    }
    let texts = texts(setting, &setting.value, report)?;
    let mut seen = BTreeSet::new();
    Some(texts.iter().filter(|text| seen.insert(text.as_str())).cloned().collect())
}

/// Strings, none of them blank.
pub(super) fn texts(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<Vec<String>> {
    let DeValue::Array(entries) = value.get_ref() else {
        return unexpected(setting, value, "a list of strings", report);
    };
    let texts: Vec<_> = entries.iter().map(|entry| text(setting, entry, report)).collect();
    texts.into_iter().collect()
}

/// The strings under a key of a table; none where the key is not there.
pub(super) fn texts_of(
    setting: &Setting<'_>,
    fields: &DeTable<'_>,
    field: &str,
    report: &mut LoadReport,
) -> Option<Vec<String>> {
    fields.get(field).map_or(Some(Vec::new()), |value| texts(setting, value, report))
}

/// True if a table has no keys but these; each other one is reported.
pub(super) fn has_only<const N: usize>(
    setting: &Setting<'_>,
    fields: &DeTable<'_>,
    known: [&'static str; N],
    report: &mut LoadReport,
) -> bool {
    let unknown = fields.keys().filter(|name| !known.contains(&name.get_ref().as_ref()));
    let reported = unknown.map(|name| {
        report.error(|| {
            let hint = nearest(name.get_ref(), known).map(did_you_mean);
            let what = format!("unknown key `{}`", shown(name.get_ref()));
            setting.error(name.span().start, &what, hint)
        });
    });
    reported.count() == 0
}

/// Tools with a name, a description and a schema, each name once.
pub(super) fn definitions(
    setting: &Setting<'_>,
    report: &mut LoadReport,
) -> Option<Vec<Definition>> {
    let DeValue::Array(entries) = setting.value.get_ref() else {
        return unexpected(setting, &setting.value, "a list of tables", report);
    };
    let found: Vec<_> = entries.iter().map(|entry| definition(setting, entry, report)).collect();
    let mut seen = BTreeSet::new();
    for (entry, definition) in entries.iter().zip(&found) {
        if let Some(Definition { name, .. }) = definition
            && !seen.insert(name)
        {
            report.error(|| {
                let what = format!("`{}` is defined twice", shown(name));
                setting.error(entry.span().start, &what, None)
            });
        }
    }
    let every = seen.len() == entries.len();
    if every { found.into_iter().collect() } else { None }
}

const DEFINITION: [&str; 3] = ["name", "description", "parameters"];

fn definition(
    setting: &Setting<'_>,
    entry: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<Definition> {
    let DeValue::Table(fields) = entry.get_ref() else {
        return unexpected(setting, entry, "a table", report);
    };
    let whole = has_only(setting, fields, DEFINITION, report);
    for name in DEFINITION.into_iter().filter(|name| !fields.contains_key(*name)) {
        report.error(|| {
            setting.error(entry.span().start, &format!("a definition needs `{name}`"), None)
        });
    }
    let name = fields.get("name").and_then(|value| text(setting, value, report));
    let description = fields.get("description").and_then(|value| text(setting, value, report));
    let parameters = fields.get("parameters").and_then(|value| schema(setting, value, report));
    whole.then_some(Definition { name: name?, description: description?, parameters: parameters? })
}

pub(super) fn text(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) if text.trim().is_empty() => {
            report.error(|| setting.error(value.span().start, "found a blank string", None));
            None
        }
        DeValue::String(text) => Some(text.to_string()),
        _ => unexpected(setting, value, "a string", report),
    }
}

fn schema(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<Map<String, Value>> {
    match value.get_ref() {
        DeValue::Table(table) => object(setting, table, report),
        _ => unexpected(setting, value, "a table", report),
    }
}

// The parser refuses deep nesting, so recursion here is shallow.
fn json(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    report: &mut LoadReport,
) -> Option<Value> {
    let json = match value.get_ref() {
        DeValue::String(text) => Some(Value::from(text.as_ref())),
        DeValue::Boolean(flag) => Some(Value::from(*flag)),
        DeValue::Array(entries) => return array(setting, entries, report),
        DeValue::Table(table) => return object(setting, table, report).map(Value::Object),
        DeValue::Integer(number) => whole(number),
        DeValue::Float(number) => decimal(number),
        DeValue::Datetime(_) => None,
    };
    if json.is_none() {
        report.error(|| {
            let what = format!("found {}, which JSON cannot express", kind_of(value.get_ref()));
            setting.error(value.span().start, &what, None)
        });
    }
    json
}

fn whole(number: &DeInteger<'_>) -> Option<Value> {
    i64::from_str_radix(number.as_str(), number.radix()).ok().map(Value::from)
}

fn decimal(number: &DeFloat<'_>) -> Option<Value> {
    let number: f64 = number.as_str().parse().ok()?;
    serde_json::Number::from_f64(number).map(Value::Number)
}

fn array(setting: &Setting<'_>, entries: &DeArray<'_>, report: &mut LoadReport) -> Option<Value> {
    let entries: Vec<_> = entries.iter().map(|entry| json(setting, entry, report)).collect();
    entries.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
}

fn object(
    setting: &Setting<'_>,
    table: &DeTable<'_>,
    report: &mut LoadReport,
) -> Option<Map<String, Value>> {
    // The parser sorts by name; a schema reads best, and is cached best, as it was written.
    let mut fields: Vec<_> = table.iter().collect();
    fields.sort_by_key(|(name, _)| name.span().start);
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| Some((name.get_ref().to_string(), json(setting, value, report)?)))
        .collect();
    fields.into_iter().collect()
}

pub(super) fn unexpected<T>(
    setting: &Setting<'_>,
    value: &Spanned<DeValue<'_>>,
    expected: &str,
    report: &mut LoadReport,
) -> Option<T> {
    report.error(|| {
        let what = format!("expected {expected}, found {}", kind_of(value.get_ref()));
        setting.error(value.span().start, &what, None)
    });
    None
}
