//! Asking the person.
//!
//! Law: what is shown is what will run. A question nobody can answer is never waited for.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use jm_engine::{ApprovalDecision, Engine, Session};
use jm_system::terminal::Terminal;
use jm_types::text::{one_line, reveal};
use jm_types::{CallQuestion, Cancel, ErrorKind, RiskLevel, ToolError};

use super::acp::ClientLink;
use super::approval::{AnswerLines, Declines, ask, remember};
use super::tui::{AskingDesk, Desk};
use crate::mcp::{Dialogue, Elicitor, fill_in};

/// A preview with more lines than this may have pushed what stands above it out of sight.
const LONG_PREVIEW: usize = 15;

/// The answerer of prompts.
#[derive(Debug)]
pub(crate) enum Approver {
    /// `--yes`
    Always,
    Person(Arc<Mutex<Terminal>>),
    /// A person at the screen.
    Desk(Arc<Desk>),
    /// A person at an editor, or whoever answers for it.
    Client(Arc<ClientLink>),
    /// A program that reads questions and writes answers.
    Lines(AnswerLines),
    /// Headless: every question is answered with an error that says so.
    Nobody,
}

/// The outcome of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Somebody,
    /// Nobody could be asked, so everything was refused.
    Nobody,
}

fn refuse(session: &mut Session) -> Asked {
    session.refuse_pending(nobody);
    Asked::Nobody
}

impl Approver {
    pub(crate) fn new(yes: bool) -> Self {
        match (yes, Terminal::open()) {
            (true, _) => Approver::Always,
            (false, Some(terminal)) => Approver::Person(Arc::new(Mutex::new(terminal))),
            (false, None) => Approver::Nobody,
        }
    }

    /// Tells if somebody can be asked for more than a call was allowed.
    pub(crate) fn is_a_person(&self) -> bool {
        match self {
            Approver::Person(_) | Approver::Desk(_) | Approver::Client(_) | Approver::Lines(_) => {
                true
            }
            Approver::Always | Approver::Nobody => false,
        }
    }

    /// Answers the questions of tool servers too. `--yes` answers for calls, so it gives a server nothing.
    pub(crate) fn answers_servers(&self, elicitor: &Elicitor) {
        match self {
            Approver::Person(terminal) => {
                let terminal = Arc::clone(terminal);
                elicitor.answer_with(move |server, form| {
                    let mut terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
                    fill_in(&mut *terminal, server, form)
                });
            }
            Approver::Desk(desk) => {
                let desk = Arc::clone(desk);
                elicitor
                    .answer_with(move |server, form| fill_in(&mut AskingDesk(&desk), server, form));
            }
            Approver::Client(link) => {
                let link = Arc::clone(link);
                elicitor.answer_with(move |server, form| link.elicit(server, form));
            }
            Approver::Always | Approver::Lines(_) | Approver::Nobody => {}
        }
    }

    /// Settles what is pending. The person is waited for on a thread of its own, so that a signal
    /// is heard meanwhile; dropping this future leaves the question unanswered, and the terminal
    /// to whoever asks next.
    pub(crate) async fn decide(&self, engine: &Engine, session: &mut Session) -> Result<Asked> {
        let Some(question) = session.question() else { return Ok(Asked::Somebody) };
        let mut declines = Declines::EveryNo;
        let answer = match self {
            Approver::Always => {
                session.decide(&ApprovalDecision::ApproveAll)?;
                return Ok(Asked::Somebody);
            }
            Approver::Person(terminal) => {
                let terminal = Arc::clone(terminal);
                let (cancel, _asks) = Asks::new();
                let question = question.clone();
                tokio::task::spawn_blocking(move || {
                    let mut terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
                    ask(&mut terminal, &question, &cancel)
                })
                .await??
            }
            Approver::Desk(desk) => desk.decide(&question).await?,
            Approver::Client(link) => {
                let given = link.decide(&question).await;
                declines = Declines::Named(given.declined);
                given.answer
            }
            Approver::Lines(lines) => match lines.ask(&question).await? {
                Some(answer) => answer,
                None => return Ok(refuse(session)),
            },
            Approver::Nobody => return Ok(refuse(session)),
        };
        remember(engine, &session.id, &question, (&answer, &declines))?;
        session.answer(&answer)?;
        Ok(Asked::Somebody)
    }
}

impl Approver {
    /// Asks if the model may go on past its limit of rounds. `--yes` answers for single calls, so it
    /// lifts no limit.
    pub(crate) async fn grants_rounds(&self, done: usize, more: usize) -> Result<bool> {
        let terminal = match self {
            Approver::Person(terminal) => terminal,
            Approver::Desk(desk) => return Ok(desk.grants_rounds(done, more).await),
            Approver::Always | Approver::Client(_) | Approver::Lines(_) | Approver::Nobody => {
                return Ok(false);
            }
        };
        let terminal = Arc::clone(terminal);
        let (cancel, _asks) = Asks::new();
        let ask = move || {
            let mut terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
            ask_for_rounds(&mut terminal, (done, more), &cancel)
        };
        tokio::task::spawn_blocking(ask).await?
    }
}

impl Dialogue for Terminal {
    fn choose(&mut self, question: &str, choices: &[(char, &str)]) -> Option<usize> {
        let words: Vec<String> =
            choices.iter().map(|(letter, words)| format!("{letter} = {words}")).collect();
        loop {
            let answer = self.read(&format!("\n{question}\n[{}] ", words.join(", ")))?;
            let answer = answer.to_lowercase();
            let is_meant =
                |(letter, words): &(char, &str)| answer == letter.to_string() || answer == *words;
            if let Some(place) = choices.iter().position(is_meant) {
                return Some(place);
            }
        }
    }

    fn read(&mut self, question: &str) -> Option<String> {
        show(question).ok()?;
        self.answer().ok().flatten()
    }
}

fn ask_for_rounds(
    terminal: &mut Terminal,
    (done, more): (usize, usize),
    cancel: &Cancel,
) -> Result<bool> {
    let question = format!("\nStopped after {done} tool rounds. Continue for {more} more?");
    confirm_unless(terminal, &question, cancel)
}

/// Asks until the answer is yes or no; the end of input is no.
pub(super) fn confirm(terminal: &mut Terminal, question: &str) -> Result<bool> {
    confirm_unless(terminal, question, &Cancel::new())
}

fn confirm_unless(terminal: &mut Terminal, question: &str, cancel: &Cancel) -> Result<bool> {
    loop {
        show(&format!("{question} [y/n] "))?;
        match terminal.answer_unless(cancel)?.map(|answer| answer.to_lowercase()).as_deref() {
            Some("y" | "yes") => return Ok(true),
            Some("n" | "no") | None => return Ok(false),
            Some(_) => show("Please answer y or n.\n")?,
        }
    }
}

/// While this lives, somebody waits for the answer.
struct Asks(Cancel);

impl Asks {
    fn new() -> (Cancel, Self) {
        let cancel = Cancel::new();
        (cancel.clone(), Self(cancel))
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn nobody(request: &CallQuestion) -> ToolError {
    let hint = if !request.publishes.is_empty() {
        let flags = publish_flags(&request.publishes);
        format!(
            "run it in a terminal, or add --yes; `{flags}` allows the port, but not the command"
        )
    } else if request.needs_person {
        "run it in a terminal, or add --yes".to_owned()
    } else {
        format!("run it in a terminal, or add `--allow {}`, --approve auto or --yes", request.tool)
    };
    ToolError::new(ErrorKind::NeedsPerson { summary: request.summary.clone() }).hint(hint)
}

/// The flags that give leave to publish these ports.
pub(super) fn publish_flags(ports: &[u16]) -> String {
    ports.iter().map(|port| format!("--publish {port}")).collect::<Vec<_>>().join(" ")
}

/// The screen is held only while something is written, so that others can say something meanwhile.
pub(super) fn show(text: &str) -> Result<()> {
    let mut screen = std::io::stderr().lock();
    screen.write_all(text.as_bytes())?;
    screen.flush().map_err(Into::into)
}

pub(crate) fn risk_word(risk: RiskLevel) -> &'static str {
    match risk {
        RiskLevel::Low => "low risk",
        RiskLevel::Medium => "medium risk",
        RiskLevel::High => "HIGH RISK",
    }
}

/// Above every question about something of high risk (FR-APR-06).
const BANNER: &str = "*** WARNING: high risk. Read what it does before you answer. ***\n";

pub(super) fn describe(request: &CallQuestion, number: usize, count: usize) -> String {
    let place = if count > 1 { format!("{number}. ") } else { String::new() };
    let (risk, tool) = (risk_word(request.risk), one_line(&request.tool));
    let mut text = format!("\n{place}[{risk}] {tool}: {}\n", request.summary);
    if request.risk == RiskLevel::High {
        text.insert_str(1, BANNER);
    }
    if request.is_cut && request.preview.is_none() {
        text.push_str("   (shortened; show all: `jm call --preview`)\n");
    }
    for warning in &request.warnings {
        text.push_str(&format!("   ! {}\n", one_line(warning)));
    }
    text.push_str(&format!("   Needs approval: {}\n", request.reason));
    let Some(preview) = &request.preview else { return text };
    let preview = reveal(preview);
    if preview.lines().count() > LONG_PREVIEW {
        format!("{text}{preview}{text}")
    } else {
        format!("{text}{preview}")
    }
}
