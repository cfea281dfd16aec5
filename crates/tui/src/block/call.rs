//! One call: a header with its state (FR-TUI-02), and its result folded to a few lines.

use super::diff;
use super::headline::headline;
use super::numbers;
use super::output::{MORE, OutputBlock, folded};
use crate::text::{Line, Role, Style};

/// Frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Lines of a diff in the transcript; the pager has all of it.
const DIFF_LINES: usize = 40;

/// A call of a tool, as the screen shows it.
#[derive(Debug)]
pub struct CallBlock {
    /// The vendor's id.
    pub id: String,
    /// The call's name in the journal, for `jm output`.
    pub key: String,
    /// The tool's name.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// The step that it has reached.
    pub state: State,
    /// The output of its command, as it comes.
    pub output: OutputBlock,
    /// The diff that was approved, or that came with the result.
    pub diff: Option<String>,
}

/// The steps of a call on the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Written by the model, not run yet.
    Pending,
    /// Since so many milliseconds of the screen's clock.
    Executing {
        /// Milliseconds of the mailbox's clock.
        since: u64,
    },
    /// It has run; what came of it is told with its batch.
    Finished,
    /// It has its result.
    Done(End),
}

/// The way to see what was folded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unfold {
    /// A key of the screen.
    #[default]
    Pager,
    /// `jm output`, where there is no screen.
    Command,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// The colour and the word of the end.
    pub outcome: Outcome,
    /// The duration.
    pub seconds: f64,
    /// The result as a terminal may show it.
    pub display: String,
}

/// The kinds of end that are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A success.
    Completed,
    /// The tool failed.
    Failed,
    /// Not run: denied, or answered without being run.
    Denied {
        /// The reason in one line.
        reason: String,
    },
    /// Stopped by the person, before or while it ran.
    Cancelled,
}

impl CallBlock {
    /// A call that has not run yet.
    pub fn new(id: &str, key: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            key: key.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            state: State::Pending,
            output: OutputBlock::default(),
            diff: None,
        }
    }

    /// Tells if it shows the output of a command.
    pub fn is_command(&self) -> bool {
        headline(&self.name, &self.arguments).plain().starts_with("$ ")
    }

    /// Of a call that goes on, at this time of the screen's clock.
    pub fn live_header(&self, now: u64, width: usize) -> Line {
        let mut line = Line::new();
        let mut tail = Line::new();
        match &self.state {
            State::Executing { since } => {
                let elapsed = now.saturating_sub(*since);
                line.push(SPINNER[(elapsed / 100) as usize % SPINNER.len()], Role::Accent);
                tail.push(format!(" · {}", numbers::seconds(elapsed as f64 / 1000.0)), Role::Muted);
                if self.output.lines > 0 {
                    let lines = numbers::plural(self.output.lines, "line");
                    tail.push(format!(" · {lines}"), Role::Muted);
                }
                if self.output.is_scrolled() {
                    tail.push(" · scrolled (End follows)", Role::Warning);
                }
            }
            State::Finished => line.push("•", Role::Success),
            State::Pending | State::Done(_) => line.push("·", Role::Muted),
        }
        line.push(" ", Role::Text);
        line.append(headline(&self.name, &self.arguments));
        fit(line, tail, width)
    }

    /// The finished call for the transcript; what was folded is shown by `more`.
    pub fn lines(&self, width: usize, more: Unfold) -> Vec<Line> {
        let State::Done(end) = &self.state else { return vec![self.live_header(0, width)] };
        let mut lines = vec![self.header(end, width)];
        let body = match (&end.outcome, &self.diff) {
            (Outcome::Completed, Some(unified)) => diff::first_lines(unified, DIFF_LINES),
            _ => self.body(end),
        };
        lines.extend(body.into_iter().map(|line| line.cut(width)));
        let is_fold = |line: &&mut Line| line.plain().starts_with(MORE);
        if let Some(last) = lines.iter_mut().find(is_fold) {
            let how = match more {
                Unfold::Pager => "Ctrl-T".to_owned(),
                Unfold::Command => format!("jm output {}", self.key),
            };
            last.push(format!(" ({how})"), Role::Muted);
        }
        lines
    }

    /// All of it, for the pager.
    pub fn whole(&self, width: usize) -> Vec<Line> {
        let State::Done(end) = &self.state else { return vec![self.live_header(0, width)] };
        let mut lines = vec![self.header(end, width)];
        lines.extend(self.diff.iter().flat_map(|unified| diff::diff(unified)));
        lines.extend(end.display.lines().map(|line| Line::text(format!("  {line}"))));
        lines
    }

    fn header(&self, end: &End, width: usize) -> Line {
        let (mark, role) = match &end.outcome {
            Outcome::Completed => ("✓ ", Role::Success),
            Outcome::Failed => ("✗ ", Role::Failure),
            Outcome::Denied { .. } | Outcome::Cancelled => ("⊘ ", Role::Warning),
        };
        let mut line = Line::of(mark, Style::of(role).bold());
        line.append(headline(&self.name, &self.arguments));
        let mut tail = Line::new();
        match &end.outcome {
            Outcome::Denied { reason } => tail.push(format!(" · {reason}"), Role::Warning),
            Outcome::Cancelled => {
                tail.push(" · cancelled", Role::Warning);
                if end.seconds > 0.0 {
                    tail.push(format!(" after {}", numbers::seconds(end.seconds)), Role::Muted);
                }
            }
            Outcome::Completed | Outcome::Failed if self.is_command() => {
                if let Some(code) = exit_code(&end.display) {
                    tail.push(format!(" · exit {code}"), Role::Failure);
                }
                tail.push(format!(" · {}", numbers::seconds(end.seconds)), Role::Muted);
            }
            Outcome::Completed => match &self.diff {
                Some(unified) => {
                    let (added, removed) = diff::totals(unified);
                    tail.push(" · ", Role::Muted);
                    tail.push(format!("+{added}"), Role::Added);
                    tail.push(format!(" −{removed}"), Role::Removed);
                }
                None => {
                    let size = numbers::bytes(end.display.len() as u64);
                    tail.push(format!(" · {size}"), Role::Muted);
                }
            },
            Outcome::Failed => {}
        }
        fit(line, tail, width)
    }

    fn body(&self, end: &End) -> Vec<Line> {
        let text = &end.display;
        match &end.outcome {
            Outcome::Denied { .. } => Vec::new(),
            // What it printed until then; that it was cancelled stands in its header.
            Outcome::Cancelled => self.output.ends(),
            Outcome::Failed if !self.is_command() => folded(text, 6, 0),
            Outcome::Completed | Outcome::Failed if self.is_command() => {
                folded(without_exit_line(text), 3, 5)
            }
            // What was read is in the file; its size says enough.
            Outcome::Completed if self.name.contains("read") => Vec::new(),
            Outcome::Completed | Outcome::Failed => folded(text, 3, 0),
        }
    }
}

/// The tail stays; what is before it gives way.
fn fit(line: Line, tail: Line, width: usize) -> Line {
    let room = width.saturating_sub(tail.width()).max(width / 2);
    let mut line = line.cut(room);
    line.append(tail);
    line.cut(width)
}

/// Commands that failed say `exit code N` in their first line, after the name of the tool or without it.
fn exit_code(display: &str) -> Option<i64> {
    let first = display.lines().next()?;
    let named = || first.split_once(" failed: exit code ").map(|(_, rest)| rest);
    let rest = first.strip_prefix("exit code ").or_else(named)?;
    rest.split_whitespace().next()?.parse().ok()
}

fn without_exit_line(display: &str) -> &str {
    match exit_code(display) {
        Some(_) => {
            let rest = display.split_once('\n').map(|(_, rest)| rest).unwrap_or_default();
            rest.trim_start_matches('\n')
        }
        None => display,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(name: &str, arguments: &str, outcome: Outcome, display: &str) -> Vec<String> {
        let mut call = CallBlock::new("c1", "s-1", name, arguments);
        call.state = State::Done(End { outcome, seconds: 3.4, display: display.into() });
        call.lines(60, Unfold::Pager).iter().map(Line::plain).collect()
    }

    /// FR-TUI-02
    #[test]
    fn every_state_has_its_mark() {
        let call = |state| CallBlock {
            state,
            ..CallBlock::new("c", "s-1", "run", r#"{"command":"make"}"#)
        };
        assert_eq!(call(State::Pending).live_header(0, 60).plain(), "· $ make");
        let executing = call(State::Executing { since: 1_000 });
        assert_eq!(executing.live_header(4_400, 60).plain(), "⠼ $ make · 3.4 s");
        let read = r#"{"path":"src/main.rs","start_line":1,"end_line":40}"#;
        let lines = done("read_file", read, Outcome::Completed, &"x".repeat(1229));
        assert_eq!(lines, ["✓ read_file src/main.rs 1–40 · 1.2 KiB"]);
        let lines =
            done("run", r#"{"command":"cargo test"}"#, Outcome::Failed, "exit code 101\nboom\n");
        assert_eq!(lines, ["✗ $ cargo test · exit 101 · 3.4 s", "  boom"]);
        let named = "run_command failed: exit code 137 (signal 9)\n\nout\n\n\n[stderr]\nboom\n";
        let lines = done("run", r#"{"command":"cargo test"}"#, Outcome::Failed, named);
        let body = ["  out", "", "  [stderr]", "  boom"];
        assert_eq!(lines[0], "✗ $ cargo test · exit 137 · 3.4 s");
        assert_eq!(lines[1..], body, "blank lines are one");
        let denied = Outcome::Denied { reason: "denied: not now".into() };
        let lines = done("run", r#"{"command":"rm x"}"#, denied, "");
        assert_eq!(lines, ["⊘ $ rm x · denied: not now"]);
        let lines = done("run", r#"{"command":"rm x"}"#, Outcome::Cancelled, "Cancelled by user");
        assert_eq!(lines, ["⊘ $ rm x · cancelled after 3.4 s"]);
    }

    #[test]
    fn results_are_folded_with_how_many_more() {
        let text: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let lines = done("search", r#"{"pattern":"x"}"#, Outcome::Completed, &text);
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[4], "  … 27 more lines (Ctrl-T)");
        let lines = done("run", r#"{"command":"seq 30"}"#, Outcome::Completed, &text);
        assert_eq!(lines[4], "  … 22 more lines (Ctrl-T)");
        assert_eq!(lines.last().unwrap(), "  30");
    }
}
