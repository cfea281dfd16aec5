//! The prompt's rows, with the caret; the menu beneath it.

use unicode_segmentation::UnicodeSegmentation;

use super::frame::Caret;
use crate::app::App;
use crate::editor::{Buffer, Menu};
use crate::panel::Panel;
use crate::text::width::{grapheme_width, width};
use crate::text::{Line, Role};

const MENU_ROWS: usize = 6;
/// Longer names do not push the notes of the others away.
const WIDEST_NAME: usize = 32;
const MARK: &str = "> ";
/// Stands in an empty prompt while nothing runs.
const PLACEHOLDER: &str = "Type a prompt · / commands · @ files · ! shell";

/// Rows of what is written, at most so many, and where the caret stands in them.
pub(super) fn rows(app: &App, width: usize, most: usize) -> (Vec<Line>, Caret) {
    if let Some((typed, skipped)) = &app.prompt.search {
        let found = app.prompt.history.find(typed, *skipped).unwrap_or_default();
        let head = Line::of("search: ", Role::Accent).add(typed, Role::Text);
        let column = head.width().min(width);
        let line = head.add("  → ", Role::Muted).add(found.replace('\n', " "), Role::Muted);
        return (vec![line], Caret { row: 0, column });
    }
    let (mark, buffer, is_secret) = match &app.panel {
        Some(Panel::Secret { buffer, .. }) => (Line::of("key: ", Role::Accent), buffer, true),
        Some(Panel::Approval(approval)) if let Some((word, buffer)) = approval.typed() => {
            (Line::of(word, Role::Accent), buffer, false)
        }
        _ if app.prompt.is_shell && app.prompt.buffer.shown().0.starts_with('!') => {
            (Line::of(MARK, Role::Warning), &app.prompt.buffer, false)
        }
        _ => (Line::of(MARK, Role::Accent), &app.prompt.buffer, false),
    };
    let menu = app.prompt.menu.as_ref().map(|menu| menu_rows(menu, most)).unwrap_or_default();
    let room = most.saturating_sub(menu.len()).max(1);
    let (mut lines, caret) = written(&mark, buffer, is_secret, width, room);
    let is_at_rest = !app.is_working() && app.panel.is_none() && buffer.is_empty();
    if let Some(first) = lines.first_mut().filter(|_| is_at_rest) {
        first.push(PLACEHOLDER, Role::Muted);
    }
    lines.extend(menu);
    (lines, caret)
}

fn written(
    mark: &Line,
    buffer: &Buffer,
    is_secret: bool,
    width: usize,
    most: usize,
) -> (Vec<Line>, Caret) {
    let (mut before, mut after) = buffer.shown();
    if is_secret {
        before = "*".repeat(before.graphemes(true).count());
        after = "*".repeat(after.graphemes(true).count());
    }
    let indent = mark.width();
    let room = width.saturating_sub(indent).max(1);
    let mut layout = Layout { room, rows: vec![String::new()], used: 0 };
    layout.add(&before);
    layout.make_room(1);
    let caret = Caret { row: layout.rows.len() - 1, column: indent + layout.used };
    layout.add(&after);
    let lines = layout.rows.iter().enumerate().map(|(number, row)| {
        let start = match number {
            0 => mark.clone(),
            _ => Line::text(" ".repeat(indent)),
        };
        start.add(row, Role::Text)
    });
    // The rows around the caret.
    let first = (caret.row + 1).saturating_sub(most);
    let lines = lines.skip(first).take(most).collect();
    (lines, Caret { row: caret.row - first, ..caret })
}

struct Layout {
    room: usize,
    rows: Vec<String>,
    used: usize,
}

impl Layout {
    fn add(&mut self, text: &str) {
        for grapheme in text.graphemes(true) {
            if grapheme == "\n" || grapheme == "\r\n" {
                self.rows.push(String::new());
                self.used = 0;
                continue;
            }
            // A span shows a tab as blanks and anything hidden by its code point.
            let shown = crate::text::Span::new(grapheme, Role::Text);
            let wide = shown.text().graphemes(true).map(grapheme_width).sum();
            self.make_room(wide);
            if let Some(row) = self.rows.last_mut() {
                row.push_str(shown.text());
            }
            self.used += wide;
        }
    }

    fn make_room(&mut self, cells: usize) {
        if self.used + cells > self.room {
            self.rows.push(String::new());
            self.used = 0;
        }
    }
}

fn menu_rows(menu: &Menu, most: usize) -> Vec<Line> {
    let page = MENU_ROWS.min(most.saturating_sub(1));
    let first = (menu.selected + 1).saturating_sub(page);
    let shown = menu.entries.iter().enumerate().skip(first).take(page);
    let widest = shown.clone().map(|(_, entry)| width(entry.text.trim_end())).max();
    let widest = widest.unwrap_or_default().min(WIDEST_NAME);
    let row = |(number, entry): (usize, &crate::editor::Completion)| {
        let is_selected = number == menu.selected;
        let mark = if is_selected { "› " } else { "  " };
        let role = if is_selected { Role::Accent } else { Role::Text };
        let line = Line::of(mark, role).add(entry.text.trim_end(), role).padded(widest + 2);
        line.add(format!("  {}", entry.note), Role::Muted)
    };
    shown.map(row).collect()
}
