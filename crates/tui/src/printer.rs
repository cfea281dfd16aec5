//! The screen's blocks without a screen: what is finished is printed, nothing is drawn over.
//!
//! Law: the same lines as in the screen's scrollback, by the same code; a line is printed once.

use std::collections::VecDeque;
use std::time::Instant;

use crate::app::{App, update};
use crate::block::call::{CallBlock, Unfold};
use crate::highlight::Highlighter;
use crate::msg::{Effect, Msg, NewCall};
use crate::status::Status;
use crate::terminal::modes;
use crate::text::{Line, Theme, paint};

/// Blocks on a terminal that is not drawn, line after line.
#[derive(Debug)]
pub struct Printer {
    app: App,
    theme: Theme,
    colours: Highlighter,
    started: Instant,
}

impl Printer {
    /// A printer in these colours.
    pub fn new(theme: Theme) -> Self {
        let mut app = App::new(Status::default());
        app.unfold = Unfold::Command;
        let colours = Highlighter::default();
        Self { app, theme, colours, started: Instant::now() }
    }

    /// Takes a message in; the text that is finished with it comes back.
    pub fn hear(&mut self, msg: Msg) -> String {
        self.app.clock = self.started.elapsed().as_millis() as u64;
        let (width, height) = modes::size();
        self.app.resize(width, height);
        if !self.app.is_working() {
            // The prompt stands above already; who typed it has seen it.
            update(&mut self.app, Msg::TurnBegins { prompt: String::new() });
        }
        let mut text = String::new();
        if let Msg::Calls(calls) = &msg {
            self.announce(calls, &mut text);
        }
        let mut msgs = VecDeque::from([msg]);
        while let Some(msg) = msgs.pop_front() {
            for effect in update(&mut self.app, msg) {
                match effect {
                    Effect::Print(lines) => self.paint(&lines, &mut text),
                    Effect::Highlight(job) => msgs.extend(self.colours.job(job)),
                    _ => {}
                }
            }
        }
        text
    }

    /// Commands may take long, so they are named before they run.
    fn announce(&self, calls: &[NewCall], text: &mut String) {
        let calls = calls.iter().map(|it| CallBlock::new(&it.id, &it.key, &it.name, &it.arguments));
        let commands = calls.filter(CallBlock::is_command);
        let headers = commands.map(|call| call.live_header(0, self.app.columns()));
        self.paint(&headers.collect::<Vec<_>>(), text);
    }

    fn paint(&self, lines: &[Line], text: &mut String) {
        for line in lines {
            paint(line, &self.theme, text);
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Depth;

    #[test]
    fn blocks_are_printed_as_they_are_finished() {
        let theme = Theme { depth: Depth::None, ..Theme::default() };
        let mut printer = Printer::new(theme);
        assert!(printer.hear(Msg::Text("# Plan\n\nA par".into())).contains("Plan"));
        let code = "agraph.\n\n```rust\nfn a() {}\nfn b() {}\n```\n\n";
        let rest = printer.hear(Msg::Text(code.into()));
        let lines: Vec<&str> = rest.trim().lines().collect();
        let fence = |text: &str| format!("\u{1b}[2m{text}\u{1b}[0m");
        let expected =
            ["A paragraph.", "", &fence("```rust"), "fn a() {}", "fn b() {}", &fence("```")];
        assert_eq!(lines, expected);
    }
}
