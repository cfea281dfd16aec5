//! From the variables of the environment to the settings in them.
//!
//! Law: a variable that looks like a setting and is none is never silently ignored.

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use crate::keys::{ConfigKey, KEYS};
use crate::nearest::{did_you_mean, nearest};
use crate::network;
use crate::origin::{ConfigError, LoadReport, SettingOrigin, Source, shown};
use crate::text::{Setting, SettingPlace};
use crate::types::ValueKind;

/// Variables of the program that are no settings.
const OTHERS: &[&str] = &[
    "JM_CALL_ID",
    "JM_CONFIG",
    "JM_DEBUG",
    "JM_IDEMPOTENCY_KEY",
    "JM_LIBEXEC_DIR",
    "JM_LOG",
    "JM_ROOT",
    "JM_SESSION",
    "JM_STATE_DIR",
    "JM_THEME",
];

/// The settings among the variables, which are as `to_string_lossy` gives them.
pub(super) fn settings<'a>(
    variables: &'a [(String, String)],
    report: &mut LoadReport,
) -> Vec<Setting<'a>> {
    let mut settings = Vec::new();
    for (name, text) in variables.iter().filter(|(name, _)| name.starts_with("JM_")) {
        match KEYS.iter().find(|key| key.variable() == *name) {
            Some(key) => settings.extend(setting(key, name, text, report)),
            None if OTHERS.contains(&name.as_str()) => {}
            None => complain(name, report),
        }
    }
    settings
}

fn setting<'a>(
    key: &'static ConfigKey,
    name: &str,
    text: &'a str,
    report: &mut LoadReport,
) -> Option<Setting<'a>> {
    // What stands for bytes that were no text.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        report.error(|| ConfigError {
            origin: SettingOrigin::whole(Source::Environment),
            message: format!("`{name}`: the value is not UTF-8"),
            hint: None,
        });
        return None;
    }
    let value = match key.kind {
        ValueKind::Toggle { .. } => match text.trim() {
            "true" => DeValue::Boolean(true),
            "false" => DeValue::Boolean(false),
            other => DeValue::String(other.into()),
        },
        ValueKind::Number { .. } | ValueKind::Quota { .. } => match DeValue::parse(text.trim()) {
            Ok(value) if value.get_ref().is_integer() => value.into_inner(),
            Ok(_) | Err(_) => DeValue::String(text.into()),
        },
        ValueKind::Word { .. } | ValueKind::Name { .. } => DeValue::String(text.trim().into()),
        ValueKind::Network { .. } if network::is_word(text) => DeValue::String(text.trim().into()),
        ValueKind::List { .. } | ValueKind::Network { .. } | ValueKind::Rules { .. } => {
            DeValue::Array(list(text))
        }
        ValueKind::Definitions { .. } | ValueKind::Presets { .. } | ValueKind::Servers { .. } => {
            report.error(|| ConfigError {
                origin: SettingOrigin::whole(Source::Environment),
                message: format!("`{name}`: tables cannot be set in the environment"),
                hint: Some(format!("set `{}` in the configuration file", key.path)),
            });
            return None;
        }
    };
    let place = SettingPlace { source: &Source::Environment, text, offset: 0 };
    Some(Setting { key, name: name.to_owned(), value: Spanned::new(0..0, value), place })
}

/// Entries between commas; a blank text is the empty list.
fn list(text: &str) -> DeArray<'_> {
    let mut entries = DeArray::new();
    if !text.trim().is_empty() {
        for entry in text.split(',') {
            entries.push(Spanned::new(0..0, DeValue::String(entry.trim().into())));
        }
    }
    entries
}

fn complain(name: &str, report: &mut LoadReport) {
    let known: Vec<String> = KEYS.iter().map(ConfigKey::variable).collect();
    let hint = nearest(name, known.iter().map(String::as_str)).map(did_you_mean);
    let origin = SettingOrigin::whole(Source::Environment);
    let message = format!("unknown variable `{}`", shown(name));
    if name.starts_with("JM_TOOLS_") {
        report.error(|| ConfigError { origin, message, hint });
    } else {
        // Another program may own the name, so this is no reason not to start.
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        report.warnings.push(format!("{origin}: {message} is ignored{hint}"));
    }
}
