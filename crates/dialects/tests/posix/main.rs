//! POSIX patterns beside the system's own: extended expressions as `grep -E` reads them, globs as
//! libc does (IK-GREP, IK-GLOB, IK-TEST).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod expressions;
mod globs;

/// Numbers that are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    pub(crate) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }
}
