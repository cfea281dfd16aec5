//! Calls that were refused because nobody could be asked, and the flags that would have allowed them.

use jm_types::CallQuestion;
use jm_types::text::{one_line, reveal};
use serde::Serialize;

use super::prompt::publish_flags;

/// A call that needed an answer in a run without a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Unanswered {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) summary: String,
    /// Rules for `--allow` that would have allowed it; none where only an answer can.
    pub(crate) allow: Vec<String>,
    /// Ports for `--publish` that it would publish.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) publish: Vec<u16>,
}

impl Unanswered {
    pub(crate) fn of(request: &CallQuestion) -> Self {
        let offered = request.always.first().map(|offer| offer.rules.clone());
        let by_name = || match request.needs_person {
            true => Vec::new(),
            false => vec![request.tool.clone()],
        };
        Self {
            id: request.id.clone(),
            name: request.tool.clone(),
            summary: request.summary.clone(),
            allow: offered.unwrap_or_else(by_name),
            publish: request.publishes.clone(),
        }
    }
}

/// The list for people.
pub(crate) fn told(calls: &[Unanswered]) -> String {
    let count = match calls.len() {
        1 => "1 call needed approval".to_owned(),
        count => format!("{count} calls needed approval"),
    };
    let mut text = format!("jm: {count}, but this run is not interactive");
    for call in calls {
        text.push_str(&format!("\n  {}: {}", one_line(&call.name), call.summary));
        let flags: Vec<String> = call.allow.iter().map(|rule| flag(rule)).collect();
        text.push_str(&match flags.is_empty() {
            true if !call.publish.is_empty() => {
                let flags = publish_flags(&call.publish);
                format!("\n    allow it with --yes; {flags} allows the port, but not the command")
            }
            true => "\n    no rule can allow it; --yes does".to_owned(),
            false => format!("\n    allow it with {}", flags.join(" ")),
        });
    }
    text
}

fn flag(rule: &str) -> String {
    let rule = reveal(&one_line(rule));
    let is_plain = rule.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match (is_plain, rule.contains('\'')) {
        (true, _) => format!("--allow {rule}"),
        (false, false) => format!("--allow '{rule}'"),
        (false, true) => format!("--allow '{}'", rule.replace('\'', "'\\''")),
    }
}
