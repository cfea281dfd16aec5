//! `/help`: keys and commands.

use crate::command::COMMANDS;
use crate::text::wrap::wrap;
use crate::text::{Line, Role, Style};

/// The column at which explanations begin.
const NAMES: usize = 25;

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; queue while a turn runs, again to send now"),
    ("Shift-Enter, Ctrl-J", "line break; Alt-Enter and \\ Enter too"),
    ("Esc", "stop the turn; twice at rest: back to a prompt"),
    ("Ctrl-C", "stop the turn, clear the line, twice quit"),
    ("Ctrl-D", "quit, on an empty line"),
    ("Shift-Tab", "change the approval mode"),
    ("Tab", "complete; focus a question"),
    ("Up, Down, Ctrl-R", "history"),
    ("@", "name a file"),
    ("!", "run a command yourself"),
    ("Ctrl-T", "transcript, everything unfolded"),
    ("Ctrl-G", "edit the prompt in $EDITOR"),
    ("Ctrl-O", "unfold what was pasted"),
    ("Ctrl-V", "attach the picture in the clipboard"),
    ("PageUp, PageDown, End", "scroll a command's output"),
    ("Ctrl-Z", "suspend; fg continues"),
];

/// The page of keys and commands at that width.
pub fn lines(width: usize) -> Vec<Line> {
    let heading = |text: &str| Line::of(text, Style::of(Role::Heading));
    // A name that leaves no room beside it stands on a line of its own.
    let row = |name: &str, does: &str| -> Vec<Line> {
        let (name, does) = (Line::of(format!("  {name}"), Role::Accent), Line::text(does));
        let beside = NAMES + does.width();
        if name.width() < NAMES && beside <= width {
            let mut line = name.padded(NAMES);
            line.append(does);
            return vec![line];
        }
        let indent = if beside <= width { NAMES } else { 4 };
        let rows = wrap(&does, width.saturating_sub(indent));
        let indented = rows.into_iter().map(|row| {
            let mut line = Line::text(" ".repeat(indent));
            line.append(row);
            line
        });
        std::iter::once(name).chain(indented).collect()
    };
    let mut lines = vec![heading("Keys")];
    lines.extend(KEYS.iter().flat_map(|(key, does)| row(key, does)));
    lines.push(Line::new());
    lines.push(heading("Commands"));
    let listed = COMMANDS.iter().flat_map(|command| {
        let name = format!("/{} {}", command.name, command.takes);
        row(name.trim_end(), command.does)
    });
    lines.extend(listed);
    lines
}
