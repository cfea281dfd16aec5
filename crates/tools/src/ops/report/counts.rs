//! The numbers of a test run.

use serde::Serialize;

/// The numbers of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// All tests that the summary tells of.
    pub total: u64,
    /// Tests that succeeded.
    pub passed: u64,
    /// A test found what it was looking for.
    pub failed: u64,
    /// A test broke, or could not be run at all.
    pub errors: u64,
    /// Tests that were not run on purpose.
    pub skipped: u64,
}

impl Counts {
    pub(super) fn new(passed: u64, failed: u64, errors: u64, skipped: u64) -> Self {
        Self { total: passed + failed + errors + skipped, passed, failed, errors, skipped }
    }

    pub(super) fn plus(self, other: Counts) -> Self {
        Self::new(
            self.passed + other.passed,
            self.failed + other.failed,
            self.errors + other.errors,
            self.skipped + other.skipped,
        )
    }
}
