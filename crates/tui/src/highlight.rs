//! Colours of code (syntect, with the syntaxes and the `ansi` theme of two-face), in a worker.
//!
//! Law: nothing is loaded before the first turn; the frame never waits for a colour. The theme uses the
//! terminal's own sixteen colours, so it fits every background.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use syntect::easy::HighlightLines;
use syntect::highlighting::{FontStyle, HighlightState, Theme};
use syntect::parsing::{ParseState, SyntaxSet};
use two_face::theme::EmbeddedThemeName;

use crate::mailbox::Mailbox;
use crate::msg::{Highlight, Msg};
use crate::text::{Ansi, Attributes, Line, Role, Style};

/// Longer lines go without colours: nobody reads them, and expressions may take long.
const LONGEST_LINE: usize = 2_000;

/// Starts the worker; it ends when nobody can send to it any more.
pub fn start(mailbox: Arc<Mailbox>) -> Sender<Highlight> {
    let (sender, receiver) = channel();
    // Without a thread code goes without colours, after a moment.
    std::thread::Builder::new()
        .name("highlight".into())
        .spawn(move || work(&receiver, &mailbox))
        .map(drop)
        .unwrap_or_default();
    sender
}

fn work(jobs: &Receiver<Highlight>, mailbox: &Mailbox) {
    let mut highlighter = Highlighter::default();
    while let Ok(job) = jobs.recv() {
        highlighter.job(job).into_iter().for_each(|msg| mailbox.send(msg));
    }
}

/// Blocks of code that are being coloured.
#[derive(Default)]
pub struct Highlighter {
    known: Option<Known>,
    open: HashMap<u64, (HighlightState, ParseState)>,
}

/// Syntaxes and the theme, loaded with the first job.
struct Known {
    syntaxes: SyntaxSet,
    theme: Theme,
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Highlighter").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

impl Highlighter {
    /// Does a job at once; a line comes back with its colours.
    pub fn job(&mut self, job: Highlight) -> Option<Msg> {
        let known = self.known.get_or_insert_with(|| Known {
            syntaxes: two_face::syntax::extra_newlines(),
            theme: two_face::theme::extra().get(EmbeddedThemeName::Ansi).clone(),
        });
        match job {
            Highlight::Load => None,
            Highlight::Begin { block, language } => {
                let lines = highlighter(&known.syntaxes, &known.theme, &language);
                self.open.extend(lines.map(|lines| (block, lines.state())));
                None
            }
            Highlight::Line { block, index, text } => {
                let state = self.open.remove(&block).filter(|_| text.len() <= LONGEST_LINE);
                let line = match state {
                    Some((colours, syntax)) => {
                        let mut lines = HighlightLines::from_state(&known.theme, colours, syntax);
                        let line = coloured(&mut lines, &known.syntaxes, &text);
                        self.open.insert(block, lines.state());
                        line
                    }
                    None => Line::text(&text),
                };
                Some(Msg::Highlighted { block, index, line })
            }
            Highlight::End { block } => {
                self.open.remove(&block);
                None
            }
        }
    }
}

fn highlighter<'a>(
    syntaxes: &SyntaxSet,
    theme: &'a Theme,
    language: &str,
) -> Option<HighlightLines<'a>> {
    let word = language.split([' ', ',', '{']).next().unwrap_or_default();
    let syntax = syntaxes.find_syntax_by_token(word)?;
    Some(HighlightLines::new(syntax, theme))
}

fn coloured(lines: &mut HighlightLines<'_>, syntaxes: &SyntaxSet, text: &str) -> Line {
    let with_end = format!("{text}\n");
    let Ok(regions) = lines.highlight_line(&with_end, syntaxes) else { return Line::text(text) };
    let mut line = Line::new();
    for (style, piece) in regions {
        let piece = piece.trim_end_matches('\n');
        // In this theme an alpha of 0 says that red is the number of a colour.
        let colour = style.foreground;
        let ink = (colour.a == 0 && colour.r < 16).then_some(Ansi(colour.r));
        let mut attributes = Attributes::NONE;
        if style.font_style.contains(FontStyle::BOLD) {
            attributes = attributes.with(Attributes::BOLD);
        }
        if style.font_style.contains(FontStyle::ITALIC) {
            attributes = attributes.with(Attributes::ITALIC);
        }
        line.push(piece, Style { role: Role::Text, ink, attributes });
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_gets_the_colours_of_the_terminal() {
        let mailbox = Arc::new(Mailbox::default());
        let jobs = start(Arc::clone(&mailbox));
        jobs.send(Highlight::Begin { block: 1, language: "rust".into() }).unwrap();
        for (index, text) in ["/* one", "two */ fn main() {}"].iter().enumerate() {
            jobs.send(Highlight::Line { block: 1, index, text: (*text).into() }).unwrap();
        }
        jobs.send(Highlight::End { block: 1 }).unwrap();
        jobs.send(Highlight::Line { block: 9, index: 0, text: "plain".into() }).unwrap();
        let mut lines = Vec::new();
        while lines.len() < 3 {
            for msg in mailbox.receive(None) {
                if let Msg::Highlighted { line, .. } = msg {
                    lines.push(line);
                }
            }
        }
        assert_eq!(lines[1].plain(), "two */ fn main() {}");
        let inks = |line: &Line| line.spans.iter().filter_map(|span| span.style().ink).count();
        assert!(inks(&lines[0]) > 0 && inks(&lines[1]) > 1);
        assert_eq!(lines[0].spans[0].style().ink, lines[1].spans[0].style().ink, "one comment");
        assert_eq!(inks(&lines[2]), 0);
    }
}
