//! The dialogue at a plain terminal, until one answer is clear.

use anyhow::Result;
use jm_system::console;
use jm_system::page::page;
use jm_system::terminal::Terminal;
use jm_types::text::{one_line, reveal};
use jm_types::{
    AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion, CallQuestion, Cancel,
};

use super::answer::{Choices, Typed, parse_scope};
use crate::faces::prompt::{describe, show};

/// Asks until the answer is clear. The end of input, and a question that was cancelled, are no.
pub(crate) fn ask(
    terminal: &mut Terminal,
    question: &ApprovalQuestion,
    cancel: &Cancel,
) -> Result<ApprovalAnswer> {
    Dialogue { terminal, question, cancel, drafts: vec![None; question.calls.len()] }.run()
}

struct Dialogue<'a> {
    terminal: &'a mut Terminal,
    question: &'a ApprovalQuestion,
    cancel: &'a Cancel,
    /// Edited arguments that could not be used, to go on with.
    drafts: Vec<Option<String>>,
}

impl Dialogue<'_> {
    fn run(&mut self) -> Result<ApprovalAnswer> {
        show(&self.described())?;
        let choices = Choices::of(self.question);
        loop {
            show(&choices.question())?;
            let Some(answer) = self.terminal.answer_unless(self.cancel)? else {
                if !self.cancel.is_cancelled() {
                    show("\n")?;
                }
                return Ok(ApprovalAnswer::default());
            };
            let answered = match choices.parse(&answer) {
                Some(Typed::All) => Some(self.question.answer_all(&ApprovalChoice::Once)),
                Some(Typed::None { reason }) => {
                    Some(self.question.answer_all(&ApprovalChoice::No { reason }))
                }
                Some(Typed::Some(places)) => {
                    let chosen = places.iter().filter_map(|place| self.question.calls.get(*place));
                    let once =
                        |call: &CallQuestion| AnsweredCall::new(&call.id, ApprovalChoice::Once);
                    Some(ApprovalAnswer { calls: chosen.map(once).collect() })
                }
                Some(Typed::Always) => self.always()?,
                Some(Typed::Keep(typed)) => self.keep(typed)?,
                Some(Typed::OptIn) => Some(self.question.answer_opt_in()),
                Some(Typed::Edit(place)) => self.edit(place)?,
                Some(Typed::Details) => {
                    if let Err(error) = page(&self.described()) {
                        show(&format!("No pager: {error} (name one with PAGER)\n"))?;
                    }
                    None
                }
                Some(Typed::Unmask) => {
                    show(&self.unmasked())?;
                    None
                }
                Some(Typed::Help) => {
                    show(&choices.help())?;
                    None
                }
                None => {
                    show(&choices.please())?;
                    None
                }
            };
            if let Some(answer) = answered {
                return Ok(answer);
            }
        }
    }

    fn described(&self) -> String {
        let calls = &self.question.calls;
        let described = calls.iter().enumerate();
        let described = described.map(|(at, call)| describe(call, at + 1, calls.len()));
        let mut text: String = described.collect();
        if let Some(diff) = &self.question.diff {
            text.push_str(&format!("\nAll changes together:\n{}", reveal(diff)));
        }
        text
    }

    /// The previews with nothing masked.
    fn unmasked(&self) -> String {
        self.question.calls.iter().filter_map(|call| call.unmasked.as_deref()).map(reveal).collect()
    }

    /// Shows the rules that "always" would store, and asks for their scope; `None` goes back to the question.
    fn always(&mut self) -> Result<Option<ApprovalAnswer>> {
        let (rules, scopes) = self.question.offered();
        let mut text = "Always allow:\n".to_owned();
        rules.iter().for_each(|rule| text.push_str(&format!("  {}\n", reveal(&one_line(rule)))));
        if self.question.calls.iter().any(|call| call.always.is_empty() || call.opts_in) {
            text.push_str("No rule is offered for the other calls; they run this once.\n");
        }
        show(&text)?;
        let words = scopes.iter().map(|scope| format!("{} = {}", scope.letter(), scope.words()));
        let words: Vec<String> = words.collect();
        loop {
            show(&format!("Where? [{}, Enter = back] ", words.join(", ")))?;
            let Some(answer) = self.terminal.answer_unless(self.cancel)? else { return Ok(None) };
            if answer.is_empty() {
                return Ok(None);
            }
            if let Some((scope, seconds)) = parse_scope(&answer, &scopes) {
                return Ok(Some(self.question.answer_always(scope, seconds)));
            }
            let letters = scopes.iter().map(|scope| scope.letter().to_string());
            let letters: Vec<String> = letters.collect();
            show(&format!(
                "Please answer {}, or press Enter. A time may follow: `{} 8h`, `{} 7d`.\n",
                letters.join(", "),
                letters[0],
                letters[0]
            ))?;
        }
    }

    /// Reads which files are kept, and asks where none are named; `None` goes back to the question.
    fn keep(&mut self, mut typed: String) -> Result<Option<ApprovalAnswer>> {
        let call = &self.question.calls[0];
        if typed.is_empty() {
            show("Keep which files? [numbers or paths, Enter = back] ")?;
            typed = self.terminal.answer_unless(self.cancel)?.unwrap_or_default();
        }
        if typed.trim().is_empty() {
            return Ok(None);
        }
        match call.chosen(&typed) {
            Ok(choice) => {
                let answered = AnsweredCall::new(&call.id, choice);
                Ok(Some(ApprovalAnswer { calls: vec![answered] }))
            }
            Err(why) => {
                show(&format!("{}.\n", one_line(&why)))?;
                Ok(None)
            }
        }
    }

    /// Opens the arguments in the person's editor; `None` goes back to the question.
    fn edit(&mut self, place: usize) -> Result<Option<ApprovalAnswer>> {
        let call = &self.question.calls[place];
        let draft = self.drafts[place].take().unwrap_or_else(|| call.draft());
        let text = match console::edit(&draft) {
            Ok(Some(text)) => text,
            Ok(None) => {
                show("Not edited: the editor failed.\n")?;
                return Ok(None);
            }
            Err(error) => {
                show(&format!("No editor: {error} (name one with EDITOR)\n"))?;
                return Ok(None);
            }
        };
        match call.edited(&text) {
            Ok(Some(choice)) => {
                let edited = AnsweredCall::new(&call.id, choice);
                Ok(Some(ApprovalAnswer { calls: vec![edited] }))
            }
            Ok(None) => {
                show("The arguments are unchanged.\n")?;
                Ok(None)
            }
            Err(why) => {
                self.drafts[place] = Some(text);
                show(&format!("{}. `e` opens it again.\n", one_line(&why)))?;
                Ok(None)
            }
        }
    }
}
