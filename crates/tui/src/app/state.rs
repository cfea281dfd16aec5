//! The state of the screen, and the steps that all messages share.

use std::collections::BTreeMap;

use crate::block::call::{CallBlock, Unfold};
use crate::block::{self, Note};
use crate::editor::{Buffer, Burst, Completion, History, Menu};
use crate::markdown;
use crate::msg::{Effect, PickRow, Picking};
use crate::outbox::Outbox;
use crate::panel::full::{Full, Picker};
use crate::panel::pager::Pager;
use crate::panel::{Panel, QUIET};
use crate::status::Status;
use crate::text::Line;
use crate::transcript::Transcript;

/// Everything that the screen shows or remembers.
#[derive(Debug, Default)]
pub struct App {
    /// Milliseconds since the start.
    pub clock: u64,
    /// Columns of the terminal.
    pub width: usize,
    /// Rows of the terminal.
    pub height: usize,
    has_size: bool,
    narrow_until: Option<u64>,
    /// The facts of the status line.
    pub status: Status,
    /// The state of folded texts.
    pub unfold: Unfold,
    /// The line editor with its menu and drafts.
    pub prompt: Prompt,
    /// While the model or its calls are at work.
    pub turn: Option<RunningTurn>,
    /// Prompts that wait for the end of the turn.
    pub queue: Vec<String>,
    /// The question that stands above the prompt.
    pub panel: Option<Panel>,
    /// The panel has the focus, so every key is for it.
    pub is_focused: bool,
    /// The question of the panel stood on the whole screen.
    pub(crate) was_opened: bool,
    /// The page or list that takes the whole screen.
    pub full: Option<Full>,
    pub(crate) outbox: Outbox,
    pub(crate) transcript: Transcript,
    pub(crate) answer: Answer,
    /// A word to the person beneath the prompt, until this time.
    pub flash: Option<(String, u64)>,
    pub(crate) last_typed: Option<u64>,
    pub(crate) armed: Armed,
    /// The code block that the highlighter is being given, with the number of its lines.
    pub(crate) code: Option<Code>,
}

/// The prompt and what belongs to it.
#[derive(Debug, Default)]
pub struct Prompt {
    /// The text that is being typed.
    pub buffer: Buffer,
    /// The completions on offer.
    pub menu: Option<Menu>,
    pub(crate) history: History,
    pub(crate) burst: Burst,
    pub(crate) files: Option<Vec<String>>,
    /// For this prompt the list of files was asked for.
    pub(crate) files_asked: bool,
    /// Words that commands may take.
    pub(crate) arguments: BTreeMap<&'static str, Vec<Completion>>,
    /// Ctrl-R: what is searched for, and how many finds were passed.
    pub search: Option<(String, usize)>,
    /// The first character is a `!` that was typed.
    pub(crate) is_shell: bool,
}

/// A turn that goes on.
#[derive(Debug, Default)]
pub struct RunningTurn {
    /// Milliseconds of the mailbox's clock.
    pub began: u64,
    /// The calls of the turn, in order.
    pub calls: Vec<CallBlock>,
    /// The thoughts that are being shown.
    pub thinking: Option<ThinkingText>,
    /// The call that the model writes.
    pub writing: Option<String>,
    /// The reason of the pause before another attempt.
    pub retrying: Option<String>,
    /// It was asked to stop.
    pub is_stopping: bool,
    /// True if the queue is sent as soon as it has stopped.
    pub(crate) steers: bool,
}

/// Thoughts of the model, as they come.
#[derive(Debug, Default)]
pub struct ThinkingText {
    /// Milliseconds of the mailbox's clock.
    pub since: u64,
    /// The words so far.
    pub text: String,
}

/// The model's words of this message.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) stream: markdown::Stream,
    /// The Markdown of the last answer, for `/copy` and the pager.
    pub(crate) source: String,
    pub(crate) last: String,
}

#[derive(Debug, Default)]
pub(crate) struct Armed {
    pub(crate) quit: Option<u64>,
    pub(crate) rewind: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Code {
    /// Unknown languages go without colours.
    pub(crate) is_coloured: bool,
    pub(crate) lines: usize,
}

/// So long "press again" holds.
pub(crate) const AGAIN: u64 = 2_000;
/// After a change of the width, rows are narrow for so long.
const UNSETTLED: u64 = 1_000;
const NARROW: usize = 38;
const LEAST_FOR_RULE: usize = 16;
/// Turns longer than this end with a notice.
const LONG_TURN: u64 = 10_000;

impl App {
    /// A screen of one row, before the terminal has told its size.
    pub fn new(status: Status) -> Self {
        Self { width: 80, height: 24, status, ..Self::default() }
    }

    /// Columns that may be drawn: the last one is left free, so that no terminal wraps.
    pub fn columns(&self) -> usize {
        self.width.saturating_sub(1).max(1)
    }

    /// A new size. One seldom comes alone, and a terminal may have wrapped what was drawn before we
    /// hear of it; for a moment rows are so narrow that no further change wraps them.
    pub fn resize(&mut self, width: usize, height: usize) {
        if self.width != width && self.has_size {
            self.narrow_until = Some(self.clock + UNSETTLED);
        }
        (self.width, self.height, self.has_size) = (width, height, true);
    }

    /// Columns of the live region.
    pub fn live_columns(&self) -> usize {
        match self.narrow_until {
            Some(until) if self.clock < until => self.columns().min(NARROW),
            _ => self.columns(),
        }
    }

    /// A rule stands above the prompt; on lower screens a row is worth more.
    pub(crate) fn has_rule(&self) -> bool {
        self.height >= LEAST_FOR_RULE
    }

    /// Rows for a question above an empty prompt and the status line.
    pub(crate) fn question_room(&self) -> usize {
        self.height.saturating_sub(3 + usize::from(self.has_rule()))
    }

    /// Tells if a turn is under way.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// When something changes by itself; none while everything rests.
    pub fn next_tick(&self) -> Option<u64> {
        let flash = self.flash.as_ref().map(|(_, until)| until.saturating_sub(self.clock).max(1));
        let spinner = (self.turn.is_some() && self.panel.is_none()).then_some(100);
        let narrow = self.narrow_until.map(|until| until.saturating_sub(self.clock).max(1));
        let code = (!self.outbox.is_empty()).then_some(50);
        // Until keys are answers again, the question says that they are not.
        let quiet = self.last_typed.filter(|_| self.panel.is_some()).map(|at| at + QUIET);
        let quiet = quiet.filter(|until| *until > self.clock).map(|until| until - self.clock);
        [flash, spinner, narrow, code, quiet].into_iter().flatten().min()
    }

    /// Adds finished lines to the transcript.
    pub(crate) fn print(&mut self, lines: Vec<Line>) {
        self.transcript.lines(&lines);
        self.outbox.lines(lines);
    }

    pub(crate) fn note(&mut self, note: &Note) {
        self.print(block::note(note));
    }

    pub(crate) fn flash(&mut self, text: impl Into<String>) {
        self.flash = Some((text.into(), self.clock + AGAIN));
    }

    pub(super) fn pick(&mut self, what: Picking, title: String, rows: Vec<PickRow>) {
        match rows.is_empty() {
            true => self.flash("Nothing to choose from"),
            false => self.full = Some(Full::Picker(Picker::new(what, title, rows))),
        }
    }

    pub(crate) fn page(&mut self, pager: Pager) {
        self.full = Some(Full::Pager(pager));
    }

    /// After every message: what is finished leaves, what has passed is forgotten.
    pub(super) fn settle(&mut self, out: &mut Vec<Effect>) {
        let clock = self.clock;
        let is_over = |until: &Option<u64>| until.is_some_and(|until| clock >= until);
        if self.flash.as_ref().is_some_and(|(_, until)| clock >= *until) {
            self.flash = None;
        }
        if is_over(&self.narrow_until) {
            self.narrow_until = None;
        }
        if is_over(&self.armed.quit) {
            self.armed.quit = None;
        }
        if is_over(&self.armed.rewind) {
            self.armed.rewind = None;
        }
        let (width, height) = (self.columns(), self.height);
        if let Some(full) = &mut self.full {
            // What is finished waits while something else fills the screen.
            full.fit(width, height);
            if let (Full::Question(page), Some(Panel::Approval(asked))) = (full, &mut self.panel)
                && page.was_in_sight()
            {
                asked.note_in_sight();
            }
            return;
        }
        let lines = self.outbox.take(clock);
        if !lines.is_empty() {
            out.push(Effect::Print(lines));
        }
    }

    pub(crate) fn notify_if_long(&self, began: u64, text: &str, out: &mut Vec<Effect>) {
        if self.clock.saturating_sub(began) >= LONG_TURN {
            out.push(Effect::Notify(text.to_owned()));
        }
    }
}
