//! Frames on a terminal emulator: what is in the scrollback, what is on the screen.

use super::*;
use crate::text::Role;

const SETTINGS: Settings = Settings {
    theme: Theme {
        depth: crate::text::Depth::Sixteen,
        background: crate::text::Background::Dark,
        high_contrast: false,
        utf8: true,
    },
    reflows: true,
    alternate: true,
};

fn frame(rows: &[&str]) -> Frame {
    let rows: Vec<Line> = rows.iter().map(Line::text).collect();
    let row = rows.len().saturating_sub(2);
    Frame { caret: Some(Caret { row, column: 2 }), rows, is_full: false }
}

/// A terminal of 20 by 6 with its scrollback.
struct World {
    writer: Writer<Vec<u8>>,
    terminal: vt100::Parser,
}

impl World {
    fn new() -> Self {
        Self {
            writer: Writer::new(Vec::new(), SETTINGS, (20, 6)),
            terminal: vt100::Parser::new(6, 20, 1_000),
        }
    }

    fn draw(&mut self, finished: &[&str], live: &[&str]) -> String {
        let finished: Vec<Line> = finished.iter().map(Line::text).collect();
        self.writer.frame(&finished, &frame(live), (20, 6)).unwrap();
        let bytes = std::mem::take(&mut self.writer.out);
        self.terminal.process(&bytes);
        String::from_utf8(bytes).unwrap()
    }

    /// Everything from the first line of the scrollback to the last of the screen.
    fn all(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let mut back = self.terminal.screen().scrollback();
        while back > 0 {
            self.terminal.screen_mut().set_scrollback(back);
            rows.push(self.terminal.screen().rows(0, 20).next().unwrap());
            back -= 1;
        }
        self.terminal.screen_mut().set_scrollback(0);
        rows.extend(self.terminal.screen().rows(0, 20));
        rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
        while rows.last().is_some_and(|row| row.is_empty()) {
            rows.pop();
        }
        rows
    }
}

#[test]
fn every_finished_line_is_in_the_scrollback_once() {
    let mut world = World::new();
    let mut expected = Vec::new();
    for number in 0..50 {
        let line = format!("line {number}");
        let spin = format!("spin {number}");
        let live: Vec<&str> = match number % 3 {
            0 => vec![&spin, "> ", "status"],
            1 => vec!["> ", "status"],
            _ => vec!["a", &spin, "b", "> ", "status"],
        };
        world.draw(&[], &live);
        world.draw(&[&line], &live);
        expected.push(line);
    }
    world.draw(&[], &["> ", "status"]);
    expected.extend([">".into(), "status".into()]);
    assert_eq!(world.all(), expected);
    assert_eq!(world.terminal.screen().cursor_position().1, 2);
}

#[test]
fn a_frame_without_a_change_writes_nothing_and_a_letter_little() {
    let mut world = World::new();
    world.draw(&["done"], &["one", "> a", "status"]);
    assert_eq!(world.draw(&[], &["one", "> a", "status"]), "");
    let bytes = world.draw(&[], &["one", "> ab", "status"]);
    assert!(bytes.starts_with("\x1b[?2026h") && bytes.ends_with("\x1b[?2026l"), "{bytes:?}");
    assert!(bytes.len() < 70, "{} {bytes:?}", bytes.len());
    assert!(!bytes.contains("\x1b[2J") && !bytes.contains("\x1b[3J"));
    assert!(!world.draw(&["more"], &["> ", "status"]).contains("\x1b[J"), "tmux would scroll");
    assert_eq!(world.all(), ["done", "more", ">", "status"]);
}

#[test]
fn a_long_line_is_left_to_the_terminal_to_wrap() {
    let mut world = World::new();
    let long = "0123456789".repeat(5);
    world.draw(&[&long], &["> ", "status"]);
    assert_eq!(world.terminal.screen().contents(), format!("{long}\n> \nstatus"));
    assert!(world.terminal.screen().row_wrapped(0), "the terminal knows that it is one line");
    let exact = "x".repeat(20);
    world.draw(&[&exact, "next"], &["> ", "status"]);
    assert_eq!(world.all()[3..], [exact.as_str(), "next", ">", "status"]);
}

#[test]
fn the_screen_comes_back_after_something_filled_it() {
    let mut world = World::new();
    world.draw(&["one"], &["> x", "status"]);
    let rows = (0..6).map(|number| Line::text(format!("page {number}"))).collect();
    let full = Frame { rows, caret: None, is_full: true };
    world.writer.frame(&[], &full, (20, 6)).unwrap();
    world.terminal.process(&std::mem::take(&mut world.writer.out));
    assert!(world.terminal.screen().alternate_screen());
    assert!(world.terminal.screen().contents().starts_with("page 0\npage 1"));
    world.draw(&["two"], &["> x", "status"]);
    assert!(!world.terminal.screen().alternate_screen());
    assert_eq!(world.all(), ["one", "two", "> x", "status"]);
}

#[test]
fn a_wide_character_does_not_move_the_caret_away() {
    let mut world = World::new();
    let rows = vec![Line::of("> 漢字", Role::Text), Line::text("status")];
    let caret = Some(Caret { row: 0, column: 6 });
    world.writer.frame(&[], &Frame { rows, caret, is_full: false }, (20, 6)).unwrap();
    world.terminal.process(&std::mem::take(&mut world.writer.out));
    assert_eq!(world.terminal.screen().cursor_position(), (0, 6));
}

#[test]
fn clearing_leaves_only_what_is_finished() {
    let mut world = World::new();
    world.draw(&["one", "two"], &["a", "> ", "status"]);
    world.writer.clear().unwrap();
    world.terminal.process(&std::mem::take(&mut world.writer.out));
    assert_eq!(world.all(), ["one", "two"]);
    assert_eq!(world.terminal.screen().cursor_position(), (2, 0));
}

#[test]
fn after_a_resize_the_rows_that_the_terminal_wrapped_are_counted() {
    let mut writer = Writer::new(Vec::new(), SETTINGS, (20, 6));
    let wide = "w".repeat(19);
    writer.frame(&[], &frame(&[&wide, &wide, "> abc", "status"]), (20, 6)).unwrap();
    writer.out.clear();
    writer.frame(&[], &frame(&["w", "> abc", "status"]), (10, 6)).unwrap();
    let bytes = String::from_utf8(std::mem::take(&mut writer.out)).unwrap();
    assert_eq!(bytes.matches("\x1b[2K").count(), 6, "two rows became four: {bytes:?}");
    let mut writer = Writer::new(Vec::new(), Settings { reflows: false, ..SETTINGS }, (20, 6));
    writer.frame(&[], &frame(&[&wide, &wide, "> abc", "status"]), (20, 6)).unwrap();
    writer.out.clear();
    writer.frame(&[], &frame(&["w", "> abc", "status"]), (10, 6)).unwrap();
    let bytes = String::from_utf8(std::mem::take(&mut writer.out)).unwrap();
    assert_eq!(bytes.matches("\x1b[2K").count(), 4, "they were cut: {bytes:?}");
}

/// Without a second screen, what stood there is in the scrollback and nothing of the panel is.
#[test]
fn without_a_second_screen_nothing_is_lost_and_nothing_is_left() {
    let mut world = World::new();
    world.writer.settings.alternate = false;
    world.draw(&["one", "two"], &["> ", "status"]);
    let full = Frame { rows: vec![Line::text("panel"); 6], caret: None, is_full: true };
    world.writer.frame(&[], &full, (20, 6)).unwrap();
    world.draw(&["three"], &["> ", "status"]);
    let all = world.all();
    let all = all.join("\n");
    let count = |word: &str| all.matches(word).count();
    assert_eq!(["one", "two", "three", "status", "panel"].map(count), [1, 1, 1, 1, 0], "{all}");
}

/// A spinner costs a few bytes, however long the rule behind it.
#[test]
fn the_end_of_a_row_that_stays_is_not_written_again() {
    let mut world = World::new();
    let mut draw = |mark: &str| {
        let rule = Line::of(mark, Role::Accent).add(" ──────────", Role::Muted);
        let rows = vec![rule, Line::text("> "), Line::text("status")];
        let caret = Some(Caret { row: 1, column: 2 });
        world.writer.frame(&[], &Frame { rows, caret, is_full: false }, (20, 6)).unwrap();
        let bytes = std::mem::take(&mut world.writer.out);
        world.terminal.process(&bytes);
        (bytes.len(), world.terminal.screen().rows(0, 20).next().unwrap())
    };
    draw("⠋");
    let (bytes, row) = draw("⠙");
    assert_eq!(row, "⠙ ──────────");
    assert!(bytes < 80, "{bytes} bytes");
    assert_eq!(draw("longer").1, "longer ──────────");
    assert_eq!(draw("⠙").1, "⠙ ──────────", "a shorter row leaves nothing behind");
}
