//! `jm exec`: tool calls from standard input, results to standard output, no model.
//!
//! Law: input is answered in order, as it comes, and no fault of one call keeps the next from
//! being answered. After an interruption nothing more of the input is taken.

mod fenced;
mod input;
mod jsonl;

use anyhow::{Context, Result};
use jm_types::{ErrorCode, ToolCall};

use super::answer::{Answer, Outcome};
use super::call_loop::{Driver, End, block_on};
use super::{exit, print};
use crate::cli::{Common, Exec};
use input::{Line, Lines};

pub(crate) fn run(common: &Common, exec: &Exec) -> Result<u8> {
    block_on(async {
        let driver = Driver::new(common)?;
        let mut work = Work { driver, worst: exit::RAN };
        let lines =
            Lines::from_stdin().context("no thread can be started to read standard input")?;
        if exec.jsonl {
            jsonl::run(&mut work, lines).await?
        } else {
            fenced::run(&mut work, lines).await?
        }
        work.driver.close(None).await?;
        Ok(work.worst)
    })
}

struct Work {
    driver: Driver,
    /// The exit code so far. What a tool said is in its answer; the code is about the input, and
    /// about calls that only a person could have let run.
    worst: u8,
}

impl Work {
    /// Runs a batch; the answers are in it.
    async fn answer(&mut self, calls: Vec<ToolCall>) -> Result<End> {
        let end = self.driver.answer(calls).await?;
        let waits = |answer: &Answer<'_>| {
            answer.verdict == Outcome::NeedsApproval || answer.kind == Some(ErrorCode::ParseOnly)
        };
        if self.answers().iter().any(waits) {
            self.worst = self.worst.max(exit::DENIED);
        }
        if end == End::Interrupted {
            self.worst = exit::INTERRUPTED;
        }
        Ok(end)
    }

    fn answers(&self) -> Vec<Answer<'_>> {
        self.driver.session.batch().entries.iter().filter_map(Answer::of).collect()
    }

    /// The next line, unless the input has ended or somebody has interrupted.
    async fn next(&mut self, lines: &mut Lines) -> Result<Option<Line>> {
        if !self.is_interrupted() {
            tokio::select! {
                biased;
                () = self.driver.interrupts.next() => self.worst = exit::INTERRUPTED,
                line = lines.next() => return line,
            }
        }
        print::note(&match lines.taken {
            0 => "jm: interrupted; nothing was run".to_owned(),
            taken => {
                format!("jm: interrupted after line {taken} of the input; later lines were not run")
            }
        });
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        self.worst == exit::INTERRUPTED
    }

    /// Something in the input was no call.
    fn note_nonsense(&mut self) {
        self.worst = self.worst.max(exit::FAILED);
    }
}
