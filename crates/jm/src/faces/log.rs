//! `jm log`: a session as a story for people, or as JSON lines.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use jm_store::{CallView, LayerChange, LayerRecord, Record, Store};
use jm_system::clock::local_time;
use jm_types::text::one_line::{SUMMARY_CHARACTERS, summarize};
use jm_types::text::{one_line, reveal, sanitize};
use jm_types::{ErrorCode, SessionId};

use super::columns::{WIDTH, cut, rows, short};
use super::story::{self, Said, Scene, Spoken};
use super::{exit, history, print};
use crate::cli::{Common, Log};
use crate::sessions;

/// Lines of a thought that are shown without --all.
const THOUGHT_LINES: usize = 3;
/// How often a log that is followed looks for more.
const PULSE: Duration = Duration::from_millis(300);

pub(crate) fn run(common: &Common, log: &Log) -> Result<u8> {
    let store = sessions::store()?;
    let view = history::choose(&store, common, log.id.as_deref())?;
    let mut shown = ShownLog::new(&store, &view.root, log);
    shown.tell(&view.session)?;
    if log.follow {
        shown.follow(&view.session)?;
    }
    Ok(exit::RAN)
}

/// A log as far as it was printed.
struct ShownLog<'a> {
    store: &'a Store,
    root: &'a Path,
    log: &'a Log,
    /// Calls and messages that were printed.
    printed: HashSet<String>,
    /// Everything before this record was printed.
    seq: i64,
}

impl<'a> ShownLog<'a> {
    fn new(store: &'a Store, root: &'a Path, log: &'a Log) -> Self {
        Self { store, root, log, printed: HashSet::new(), seq: 0 }
    }

    /// Prints what is new. Where more may come, a call waits for its result, and what follows waits for it.
    fn tell(&mut self, session: &SessionId) -> Result<()> {
        let Self { store, root, log, printed, seq } = self;
        let (after, mut waits) = (*seq, false);
        story::tell(store, session, after, |scene| {
            match scene {
                Scene::Said(said) if said.is_opening() && !log.all => {}
                Scene::Said(said) => {
                    if !waits && printed.insert(format!("said {}", said.seq)) {
                        show_said(log, &said)?;
                    }
                }
                Scene::Call(call) => {
                    waits |= log.follow && call.result().is_none();
                    if !waits {
                        if printed.insert(call.call.call.to_string()) {
                            show_call(store, root, log, &call)?;
                        }
                        *seq = call.seq - 1;
                    }
                }
            }
            Ok(())
        })
    }

    /// Until it is interrupted, or nobody reads any more.
    fn follow(&mut self, session: &SessionId) -> Result<()> {
        let mut records = None;
        loop {
            let now = self.store.session(session).map_err(sessions::told)?.map(|it| it.records);
            if now != records {
                records = now;
                self.tell(session)?;
            }
            std::thread::sleep(PULSE);
        }
    }
}

fn show_said(log: &Log, said: &Said) -> Result<()> {
    if log.json {
        return print::json(&said.as_json());
    }
    let lines = said.spoken().into_iter().flat_map(|spoken| lines(log, said.at, &spoken));
    lines.into_iter().try_for_each(|line| print::line(line.trim_end()))
}

fn lines(log: &Log, at: u64, spoken: &Spoken) -> Vec<String> {
    let text: Vec<&str> = spoken.text().trim_end().lines().collect();
    match spoken {
        Spoken::Prompt(_) => {
            let said = text.iter().flat_map(|line| rows("> ", line, 2));
            std::iter::once(local_time(at)).chain(said).collect()
        }
        Spoken::Thinking(_) => {
            let label = |(number, line): (usize, &&str)| match number {
                0 => rows("  thinking: ", line, 12),
                _ => rows("            ", line, 12),
            };
            let mut lines: Vec<String> = text.iter().enumerate().flat_map(label).collect();
            if !log.all && lines.len() > THOUGHT_LINES {
                let more = lines.len() - THOUGHT_LINES;
                lines.truncate(THOUGHT_LINES);
                lines.push(format!("            … {more} more lines (--all)"));
            }
            lines
        }
        Spoken::Answer(_) => text.into_iter().flat_map(|line| rows("", line, 0)).collect(),
        Spoken::Note(note) => rows(&format!("{}  ", local_time(at)), note, 2),
    }
}

fn show_call(store: &Store, root: &Path, log: &Log, call: &CallView) -> Result<()> {
    if log.json {
        return print::json(&history::as_json(call));
    }
    let lines = in_words(store, root, call).into_iter().flat_map(|line| rows("", &line, 6));
    lines.into_iter().try_for_each(|line| print::line(&line))?;
    if log.diff { print::text(&reveal(&history::diffs(store, root, call))) } else { Ok(()) }
}

/// One call in a few lines: what, how it ended, why it was allowed, what changed.
pub(crate) fn in_words(store: &Store, root: &Path, call: &CallView) -> Vec<String> {
    let outcome = history::outcome(call);
    let key = &call.call.call;
    let room = WIDTH.saturating_sub(key.len() + outcome.len() + 6).max(20);
    // It is on one line already; only the name of a tool that does not exist may be anything.
    let summary = sanitize(call.summary());
    let summary = cut(summary.lines().next().unwrap_or_default(), room);
    let mut lines = vec![format!("{key}  {summary}  [{outcome}]")];
    for (_, record) in &call.records {
        match record {
            Record::Planned { rule, .. } if !rule.is_empty() => {
                lines.push(format!("    because: {}", short(rule, WIDTH - 13)));
            }
            Record::Edited { by, arguments, .. } => {
                let shown = summarize(arguments, SUMMARY_CHARACTERS).text;
                lines.push(format!("    edited by: {by}: {shown}"));
            }
            Record::Approved { by, .. } => {
                let by = if by == "person" { "user" } else { by };
                lines.push(format!("    approved by: {by}"));
            }
            Record::Recovered { state, choice, .. } => {
                lines.push(format!("    after a crash: {state}; {choice}"));
            }
            Record::Undid { of, .. } if !has_failed(call) => {
                lines.push(format!("    undid: {}", of.join(", ")));
            }
            _ => {}
        }
    }
    lines.extend(changes(root, call));
    lines.extend(result(store, call).map(|line| format!("    result: {line}")));
    let output = call.result().and_then(|(result, _)| result.output.as_ref());
    for stream in output.iter().flat_map(|output| &output.streams) {
        lines.push(format!("    jm output {key}: {}", stream.in_words()));
    }
    lines
}

fn changes(root: &Path, call: &CallView) -> Vec<String> {
    let effects = call.effects();
    let name = |path: &Path| one_line(&history::from_root(root, path));
    let mut lines = Vec::new();
    for effect in &effects.files {
        let change = history::change(&effect.before, &effect.after);
        lines.push(format!("    {change}: {}", name(&effect.path)));
    }
    effects.layers.iter().for_each(|layer| lines.extend(layer_in_words(root, layer)));
    for found in &effects.concurrent {
        let calls = match found.calls.as_slice() {
            [] => "other sessions may have run commands meanwhile".to_owned(),
            calls => format!("{} ran", calls.join(", ")),
        };
        for effect in &found.files {
            let (path, change) =
                (name(&effect.path), history::change(&effect.before, &effect.after));
            lines.push(format!("    uncertain: {path}: {change} while {calls}"));
        }
    }
    let never_looked = is_unknown(call).then(|| UNSEEN.to_owned());
    lines.extend(effects.gap.or(never_looked).map(|gap| format!("    not tracked: {gap}")));
    lines
}

/// Names of one layer that the log lists.
const MOST_NAMES: usize = 20;

fn layer_in_words(root: &Path, layer: &LayerRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for name in layer.names.iter().take(MOST_NAMES) {
        let word = match name.change {
            LayerChange::Created => "created",
            LayerChange::Changed => "changed",
            LayerChange::Deleted => "deleted",
        };
        let path = layer.root.join(&name.path);
        lines.push(format!("    {word}: {}", one_line(&history::from_root(root, &path))));
    }
    match (layer.names.len().saturating_sub(MOST_NAMES) as u64) + layer.more {
        0 => {}
        more => lines.push(format!("    and {more} more")),
    }
    lines
}

/// The result in a line; nothing where it is data for programs.
fn result(store: &Store, call: &CallView) -> Option<String> {
    let (result, _) = call.result()?;
    let content = store.content(result).ok()?;
    let is_data = content.starts_with(['{', '[']);
    if is_data && serde_json::from_str::<serde::de::IgnoredAny>(&content).is_ok() {
        return None;
    }
    let lines: Vec<&str> = content.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = short(lines.first()?, WIDTH - 30);
    Some(match lines.len() {
        1 => first,
        many => format!("{first} (+{} lines)", many - 1),
    })
}

const UNSEEN: &str = "jm ended before it could record what the command had changed";

/// A command that a crash cut short.
fn is_unknown(call: &CallView) -> bool {
    let is_tracked = |(_, record): &(u64, Record)| {
        matches!(record, Record::Tracked { .. } | Record::Layered { .. })
    };
    let error = call.result().and_then(|(result, _)| result.error);
    error == Some(ErrorCode::UnknownOutcome) && !call.records.iter().any(is_tracked)
}

fn has_failed(call: &CallView) -> bool {
    call.result().is_some_and(|(result, _)| result.error.is_some())
}
