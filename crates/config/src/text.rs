//! From a TOML text to the settings in it.
//!
//! Law: every key of the text is one of the table's or an error. What a key's value must be is
//! checked later, so that one bad value hides no other fault.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{ConfigKey, KEYS, tables};
use crate::nearest::{did_you_mean, nearest};
use crate::origin::{ConfigError, LoadReport, Position, SettingOrigin, Source, shown};

/// A larger file is a mistake or an attack.
const LARGEST: usize = 1024 * 1024;

/// The text of one configuration file, or what the command line says in the same form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigLayer {
    /// The file, flag or variable.
    pub source: Source,
    /// The TOML text.
    pub text: String,
}

/// One key with the value that a layer gives it, not yet checked.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    pub(super) key: &'static ConfigKey,
    /// The key, or the variable, as the person wrote it.
    pub(super) name: String,
    pub(super) value: Spanned<DeValue<'a>>,
    pub(super) place: SettingPlace<'a>,
}

/// A byte of a layer's text.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettingPlace<'a> {
    pub(super) source: &'a Source,
    pub(super) text: &'a str,
    pub(super) offset: usize,
}

impl SettingPlace<'_> {
    pub(super) fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    pub(super) fn origin(self) -> SettingOrigin {
        let position = match self.source {
            Source::User(_) | Source::Project(_) => Some(Position::of(self.text, self.offset)),
            Source::Default | Source::Environment | Source::Flag => None,
        };
        SettingOrigin { source: self.source.clone(), position }
    }

    fn error(self, message: String, hint: Option<String>) -> ConfigError {
        ConfigError { origin: self.origin(), message, hint }
    }
}

impl Setting<'_> {
    /// An error about this setting, at a byte of the text.
    pub(super) fn error(&self, offset: usize, what: &str, hint: Option<String>) -> ConfigError {
        self.place.at(offset).error(format!("`{}`: {what}", self.name), hint)
    }
}

/// The settings of a layer, in no order.
pub(super) fn settings<'a>(layer: &'a ConfigLayer, report: &mut LoadReport) -> Vec<Setting<'a>> {
    let place = SettingPlace { source: &layer.source, text: &layer.text, offset: 0 };
    if layer.text.len() > LARGEST {
        report.error(|| ConfigError {
            origin: SettingOrigin::whole(layer.source.clone()),
            message: format!("{} bytes, more than the {LARGEST} allowed", layer.text.len()),
            hint: None,
        });
        return Vec::new();
    }
    let (document, faults) = DeTable::parse_recoverable(&layer.text);
    if !faults.is_empty() {
        // What was recovered from a broken text may not be what the person meant.
        for fault in faults {
            report.error(|| syntax_error(place, &fault));
        }
        return Vec::new();
    }
    let mut settings = Vec::new();
    gather(place, "", document.into_inner(), &mut settings, report);
    settings
}

fn syntax_error(place: SettingPlace<'_>, fault: &toml::de::Error) -> ConfigError {
    let Some(span) = fault.span() else {
        return ConfigError {
            origin: SettingOrigin::whole(place.source.clone()),
            message: fault.message().to_owned(),
            hint: None,
        };
    };
    let found = place.text.get(span.clone()).unwrap_or_default().trim();
    let message = match found {
        "" => fault.message().to_owned(),
        found => format!("{}: `{}`", fault.message(), shown(found)),
    };
    place.at(span.start).error(message, None)
}

fn gather<'a>(
    place: SettingPlace<'a>,
    table: &str,
    entries: DeTable<'a>,
    settings: &mut Vec<Setting<'a>>,
    report: &mut LoadReport,
) {
    for (name, value) in entries {
        let place = place.at(name.span().start);
        let name = name.into_inner();
        let path = if table.is_empty() { name.to_string() } else { format!("{table}.{name}") };
        // A quoted name with a dot in it is one name, not a path.
        let known = !name.contains('.');
        if let Some(key) = ConfigKey::find(&path).filter(|_| known) {
            settings.push(Setting { key, name: path, value, place });
        } else if known && tables().contains(&path.as_str()) {
            let offset = value.span().start;
            match value.into_inner() {
                DeValue::Table(inner) => gather(place, &path, inner, settings, report),
                other => report.error(|| {
                    let message = format!("`{path}`: expected a table, found {}", kind_of(&other));
                    place.at(offset).error(message, None)
                }),
            }
        } else {
            report.error(|| {
                place.error(format!("unknown key `{}`", shown(&path)), hint(table, &name, &path))
            });
        }
    }
}

/// The key that was meant: a neighbour with nearly this name, else any key that ends in it.
fn hint(table: &str, name: &str, path: &str) -> Option<String> {
    let paths: Vec<_> = KEYS.iter().map(|key| key.path).chain(tables()).collect();
    if paths.contains(&path) {
        return Some("write it without quotes".to_owned());
    }
    let last = |path: &'static str| path.rsplit_once('.').unwrap_or(("", path));
    let neighbours = paths
        .iter()
        .map(|path| last(path))
        .filter(|(outer, _)| *outer == table)
        .map(|(_, name)| name);
    if let Some(near) = nearest(name, neighbours) {
        return Some(did_you_mean(near));
    }
    let elsewhere: Vec<_> =
        paths.iter().copied().filter(|path| *path == name || last(path).1 == name).collect();
    match elsewhere.as_slice() {
        [] => Some("`jm config --reference` describes every key".to_owned()),
        found => Some(did_you_mean(&found.join("` or `"))),
    }
}

/// A value's type, as a message names it.
pub(super) fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
