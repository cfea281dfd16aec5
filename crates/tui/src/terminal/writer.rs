//! The writer of frames: finished lines once, above a live region that is drawn over.
//!
//! Law: one frame is one write between `?2026h` and `?2026l`. Finished lines are printed with line
//! feeds, never by scrolling a region, so that every terminal keeps them. What is above the live
//! region is never touched, and nothing is asked of the terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::modes;
use crate::text::{Line, Theme, paint};
use crate::view::{Caret, Frame};

/// How to draw on this terminal.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The colours.
    pub theme: Theme,
    /// Narrower, it wraps what was drawn instead of cutting it.
    pub reflows: bool,
    /// It has a second screen for what fills it. GNU screen has none unless it is told to.
    pub alternate: bool,
}

/// The one writer of the terminal, which knows what stands there.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    settings: Settings,
    /// The live region as it stands.
    live: Drawn,
    /// The rows that fill the screen, where something does.
    full: Option<Vec<String>>,
    size: (usize, usize),
    /// Must be drawn anew, whatever stands there.
    is_lost: bool,
    /// Bytes of the last frame, and of all.
    pub last_bytes: usize,
    /// Bytes that were written, for tests and measurements.
    pub total_bytes: u64,
    /// Frames that were drawn.
    pub frames: u64,
}

#[derive(Debug, Default)]
struct Drawn {
    rows: Vec<Line>,
    caret: Caret,
}

impl<W: Write> Writer<W> {
    /// A writer at the bottom of a screen of that size.
    pub fn new(out: W, settings: Settings, size: (usize, usize)) -> Self {
        Self {
            out,
            settings,
            live: Drawn::default(),
            full: None,
            size,
            is_lost: false,
            last_bytes: 0,
            total_bytes: 0,
            frames: 0,
        }
    }

    /// Draws a frame. Finished lines must not come while something fills the screen.
    pub fn frame(
        &mut self,
        finished: &[Line],
        frame: &Frame,
        size: (usize, usize),
    ) -> io::Result<()> {
        let mut text = String::new();
        self.change_screen(frame.is_full, &mut text);
        match frame.is_full {
            true => self.draw_full(frame, size, &mut text),
            false => self.draw_inline(finished, frame, size, &mut text),
        }
        self.size = size;
        self.write_frame(&text)
    }

    fn write_frame(&mut self, text: &str) -> io::Result<()> {
        self.last_bytes = 0;
        if text.is_empty() {
            return Ok(());
        }
        let cursor = if self.full.is_some() { "" } else { modes::SHOW_CURSOR };
        let whole = format!(
            "{}{}{text}{cursor}{}",
            modes::BEGIN_FRAME,
            modes::HIDE_CURSOR,
            modes::END_FRAME
        );
        self.send(&whole)
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        self.last_bytes = text.len();
        self.total_bytes += text.len() as u64;
        self.frames += 1;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Sequences that are no frame, such as a bell.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Tells if a page has the whole screen.
    pub fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// Somebody else has drawn: what stands there is not ours any more.
    pub fn forget(&mut self) {
        self.live = Drawn::default();
        self.full = self.full.take().map(|_| Vec::new());
    }

    /// The live region is drawn anew with the next frame.
    pub fn redraw(&mut self) {
        self.is_lost = true;
    }

    /// Takes the live region away; the cursor stands where it began.
    pub fn clear(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.change_screen(false, &mut text);
        self.erase_live(&mut text);
        self.write_frame(&text)
    }

    fn change_screen(&mut self, is_full: bool, text: &mut String) {
        match (is_full, self.full.is_some()) {
            (true, false) if self.settings.alternate => {
                text.push_str(modes::ENTER_FULL);
                self.full = Some(Vec::new());
            }
            (true, false) => {
                // What stands there goes where all that is finished goes, by line feeds.
                self.erase_live(text);
                text.push_str(&"\r\n".repeat(2 * self.size.1));
                text.push_str("\x1b[H");
                self.full = Some(Vec::new());
            }
            (false, true) if self.settings.alternate => {
                text.push_str(modes::LEAVE_FULL);
                self.full = None;
            }
            (false, true) => {
                // Row by row: an emptied screen would be moved into the scrollback.
                for row in 1..=self.size.1 {
                    push(text, format_args!("\x1b[{row};1H\x1b[2K"));
                }
                text.push_str("\x1b[H");
                self.full = None;
            }
            (true, true) | (false, false) => {}
        }
    }

    fn draw_full(&mut self, frame: &Frame, size: (usize, usize), text: &mut String) {
        let is_resized = size != self.size;
        let Some(drawn) = &mut self.full else { return };
        if is_resized {
            drawn.clear();
        }
        let rows = painted(&frame.rows, &self.settings.theme);
        let mut changed = String::new();
        for (number, row) in rows.iter().enumerate() {
            if drawn.get(number) != Some(row) {
                push(&mut changed, format_args!("\x1b[{};1H{row}\x1b[K", number + 1));
            }
        }
        if !changed.is_empty() {
            push(text, format_args!("{}{changed}{}", modes::NO_WRAP, modes::WRAP));
        }
        *drawn = rows;
    }

    fn draw_inline(
        &mut self,
        finished: &[Line],
        frame: &Frame,
        size: (usize, usize),
        text: &mut String,
    ) {
        let is_resized = size.0 != self.size.0;
        if is_resized {
            self.reflow(size.0);
        }
        if is_resized || std::mem::take(&mut self.is_lost) || !finished.is_empty() {
            self.erase_live(text);
        }
        for line in finished {
            paint(line, &self.settings.theme, text);
            text.push_str("\r\n");
        }
        let rows = frame.rows.clone();
        let mut at = self.live.caret.row;
        let mut changed = String::new();
        for (number, row) in rows.iter().enumerate() {
            if self.live.rows.get(number) == Some(row) {
                continue;
            }
            let known = self.live.rows.len().max(1);
            at = go(at, number, known, &mut changed);
            draw_row(self.live.rows.get(number), row, &self.settings.theme, &mut changed);
            if number >= self.live.rows.len() {
                self.live.rows.push(Line::new());
            }
        }
        if self.live.rows.len() > rows.len() {
            at = go(at, rows.len(), self.live.rows.len(), &mut changed);
            changed.push_str("\r\x1b[J");
        }
        if !changed.is_empty() {
            push(text, format_args!("{}{changed}{}", modes::NO_WRAP, modes::WRAP));
        }
        let caret = frame.caret.unwrap_or_default();
        let is_moved = at != caret.row || caret != self.live.caret || !changed.is_empty();
        if is_moved || !text.is_empty() {
            go(at, caret.row, rows.len().max(1), text);
            self.go_to_column(frame, caret, text);
        }
        self.live = Drawn { rows, caret };
    }

    /// The letters before the caret are written again where they are not plain, so that the cursor
    /// stands where the terminal has them, however wide it thinks they are.
    fn go_to_column(&self, frame: &Frame, caret: Caret, text: &mut String) {
        let before = frame.rows.get(caret.row).map(|row| row.start(caret.column));
        match before {
            Some(before) if !before.plain().is_ascii() => {
                text.push('\r');
                paint(&before, &self.settings.theme, text);
            }
            _ => push(text, format_args!("\x1b[{}G", caret.column + 1)),
        }
    }

    /// Row by row, never from the cursor to the end of the screen: where the region begins in the
    /// first row of the screen, tmux would move all of it into the scrollback.
    fn erase_live(&mut self, text: &mut String) {
        if self.live.rows.is_empty() {
            return;
        }
        up(self.live.caret.row, text);
        // Back to the top by the terminal's own memory: should there be fewer rows than we think, the
        // way down ends at the bottom of the screen, and counting back would lead too far.
        text.push_str("\r\x1b7\x1b[2K");
        for _ in 1..self.live.rows.len() {
            text.push_str("\x1b[1B\x1b[2K");
        }
        text.push_str("\x1b8");
        self.live = Drawn::default();
    }

    /// After a change of the width: where the terminal has wrapped the rows, there are more of them.
    fn reflow(&mut self, width: usize) {
        if !self.settings.reflows || width == 0 {
            return;
        }
        let live = &mut self.live;
        let height = |row: &Line| row.width().div_ceil(width).max(1);
        let heights: Vec<usize> = live.rows.iter().map(height).collect();
        let above: usize = heights.iter().take(live.caret.row).sum();
        live.caret.row = above + live.caret.column / width;
        let rows = heights.iter().sum::<usize>().max(live.caret.row + 1);
        live.rows.resize(rows, Line::new());
    }
}

/// Draws a row over the one that stands there. Where both are of one width and end alike, such as a rule
/// with a spinner before it, the end is left as it is.
fn draw_row(before: Option<&Line>, row: &Line, theme: &Theme, text: &mut String) {
    let alike = before.filter(|before| before.width() == row.width()).map_or(0, |before| {
        let pairs = before.spans.iter().rev().zip(row.spans.iter().rev());
        pairs.take_while(|(old, new)| old == new).count()
    });
    let changed = Line { spans: row.spans[..row.spans.len() - alike].to_vec() };
    text.push('\r');
    paint(&changed, theme, text);
    if alike == 0 {
        text.push_str("\x1b[K");
    }
}

fn painted(rows: &[Line], theme: &Theme) -> Vec<String> {
    let one = |row: &Line| {
        let mut text = String::new();
        paint(row, theme, &mut text);
        text
    };
    rows.iter().map(one).collect()
}

/// Moves from row to row of the live region; rows beyond the `known` ones are made by line feeds.
fn go(from: usize, to: usize, known: usize, text: &mut String) -> usize {
    if to < from {
        up(from - to, text);
        return to;
    }
    let down = to.min(known - 1).saturating_sub(from);
    if down > 0 {
        push(text, format_args!("\x1b[{down}B"));
    }
    for _ in from.max(known - 1)..to {
        text.push_str("\r\n");
    }
    to
}

fn up(rows: usize, text: &mut String) {
    if rows > 0 {
        push(text, format_args!("\x1b[{rows}A"));
    }
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(what).unwrap_or_default();
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
