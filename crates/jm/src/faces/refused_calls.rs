//! Calls that nobody decided about: refused because nobody could be asked, with the flags that would have allowed them, or
//! run on a layer whose changes are set aside.

use jm_engine::{Batch, CallEntry};
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
    /// The layer in which the changes of its command are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<String>,
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
            held: None,
        }
    }

    fn set_aside(entry: &CallEntry) -> Option<Self> {
        let held = Some(entry.set_aside.clone()?);
        let (id, name) = (entry.call.id.clone(), entry.call.name.clone());
        let (allow, publish) = (Vec::new(), Vec::new());
        Some(Self { id, name, summary: entry.summary.clone(), allow, publish, held })
    }
}

/// Adds the calls of a batch whose changes were set aside, the last one of each layer.
pub(crate) fn add_set_aside(calls: &mut Vec<Unanswered>, batch: &Batch) {
    for call in batch.entries.iter().filter_map(Unanswered::set_aside) {
        calls.retain(|other| other.id != call.id && other.held != call.held);
        calls.push(call);
    }
}

/// The lists for people.
pub(crate) fn told(calls: &[Unanswered]) -> String {
    let (held, asked): (Vec<&Unanswered>, Vec<&Unanswered>) =
        calls.iter().partition(|call| call.held.is_some());
    let lists = [needed_approval(&asked), not_kept(&held)];
    lists.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn not_kept(calls: &[&Unanswered]) -> Option<String> {
    let count = match calls.len() {
        0 => return None,
        1 => "the changes of 1 call were not kept".to_owned(),
        count => format!("the changes of {count} calls were not kept"),
    };
    let mut text = format!("jm: {count}");
    for call in calls {
        let id = call.held.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "\n  {}: {}\n    set aside as {id}: `jm held diff {id}`, `jm held keep {id}` or `jm held drop {id}`",
            one_line(&call.name),
            call.summary
        ));
    }
    Some(text)
}

fn needed_approval(calls: &[&Unanswered]) -> Option<String> {
    let count = match calls.len() {
        0 => return None,
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
    Some(text)
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
