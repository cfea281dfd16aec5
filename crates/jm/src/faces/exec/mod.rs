//! `jm exec`: tool calls from standard input, results to standard output, no model.
//!
//! Law: input is answered in order, as it comes, and no fault of one call keeps the next from
//! being answered.

mod fenced;
mod input;
mod jsonl;

use anyhow::Result;
use jm_types::ToolCall;

use super::answer::{Answer, Outcome};
use super::drive::{Driver, End, block_on};
use super::{exit, print};
use crate::cli::{Common, Exec};
use crate::sessions::{self, Kept};
use input::Lines;

pub(crate) fn run(common: &Common, exec: &Exec) -> Result<u8> {
    block_on(async {
        let driver = Driver::new(common)?;
        let kept = sessions::open(common.session.as_deref())?;
        let mut work = Work { driver, kept, worst: exit::RAN };
        let lines = Lines::from_stdin();
        match exec.jsonl {
            true => jsonl::run(&mut work, lines).await?,
            false => fenced::run(&mut work, lines).await?,
        }
        Ok(work.worst)
    })
}

struct Work {
    driver: Driver,
    kept: Kept,
    /// The exit code so far. What a tool said is in its answer; the code is about the input, and
    /// about calls that only a person could have let run.
    worst: u8,
}

impl Work {
    /// Runs a batch and saves the session; the answers are in its batch.
    async fn answer(&mut self, calls: Vec<ToolCall>) -> Result<End> {
        let end = self.driver.answer(&mut self.kept.session, calls).await?;
        self.kept.save()?;
        let waits = |answer: &Answer<'_>| answer.verdict == Outcome::NeedsApproval;
        if self.answers().iter().any(waits) {
            self.worst = self.worst.max(exit::DENIED);
        }
        if end == End::Interrupted {
            self.worst = exit::INTERRUPTED;
        }
        Ok(end)
    }

    fn answers(&self) -> Vec<Answer<'_>> {
        self.kept.session.batch().entries.iter().filter_map(Answer::of).collect()
    }

    /// Something in the input was no call.
    fn note_nonsense(&mut self) {
        self.worst = self.worst.max(exit::FAILED);
    }

    fn parked(&mut self) {
        self.worst = self.worst.max(exit::DENIED);
        print::note("jm: tools mode is parse_only: the call was not run");
    }
}
