//! The person's terminal, when there is one to ask at.
//!
//! Law: an answer is typed after the question was shown. What was typed ahead, or pasted, is
//! thrown away.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Result};
use std::time::Duration;

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

/// Between the question and the first answer that counts.
const GUARD: Duration = Duration::from_millis(300);

/// How the terminal was set when we came; it is set so again when this is dropped.
#[derive(Debug)]
pub struct Manners(Option<Termios>);

impl Manners {
    pub fn keep() -> Self {
        Self(tcgetattr(std::io::stdin()).ok())
    }
}

impl Drop for Manners {
    fn drop(&mut self) {
        if let Some(manners) = &self.0 {
            // A terminal that is gone needs none.
            tcsetattr(std::io::stdin(), OptionalActions::Now, manners).unwrap_or_default();
        }
    }
}

#[derive(Debug)]
pub struct Terminal {
    input: BufReader<File>,
}

impl Terminal {
    /// The controlling terminal, if questions on standard error would be seen there.
    pub fn open() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        File::open("/dev/tty").ok().map(|tty| Self { input: BufReader::new(tty) })
    }

    /// The next line the person types; nothing at the end of input.
    pub fn answer(&mut self) -> Result<Option<String>> {
        std::thread::sleep(GUARD);
        self.discard_typed_ahead()?;
        let mut line = String::new();
        let count = self.input.read_line(&mut line)?;
        Ok((count > 0).then(|| line.trim().to_owned()))
    }

    /// The same for what nobody may read over the person's shoulder.
    pub fn secret(&mut self) -> Result<Option<String>> {
        let tty = self.input.get_ref();
        let manners = tcgetattr(tty)?;
        let mut silent = manners.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(tty, OptionalActions::Flush, &silent)?;
        let answer = self.answer();
        tcsetattr(self.input.get_ref(), OptionalActions::Now, &manners)?;
        answer
    }

    fn discard_typed_ahead(&mut self) -> Result<()> {
        let buffered = self.input.buffer().len();
        self.input.consume(buffered);
        tcflush(self.input.get_ref(), QueueSelector::IFlush).map_err(Into::into)
    }
}
