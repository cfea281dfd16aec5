//! `/help`: keys and commands.

use crate::command::COMMANDS;
use crate::text::{Line, Role, Style};

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while a turn runs: queue, a second Enter sends now"),
    ("Shift-Enter, Alt-Enter, Ctrl-J, \\ Enter", "line break"),
    ("Esc", "stop the turn; twice at rest: go back to an earlier prompt"),
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

pub fn lines(width: usize) -> Vec<Line> {
    let heading = |text: &str| Line::of(text, Style::of(Role::Heading));
    let row = |name: &str, does: &str| {
        let mut line = Line::of(format!("  {name:<22} "), Role::Accent);
        line.push(does, Role::Text);
        line.cut(width)
    };
    let mut lines = vec![heading("Keys")];
    lines.extend(KEYS.iter().map(|(key, does)| row(key, does)));
    lines.push(heading("Commands"));
    let listed = COMMANDS.iter().map(|command| {
        let name = format!("/{} {}", command.name, command.takes);
        row(name.trim_end(), command.does)
    });
    lines.extend(listed);
    lines
}
