//! The number of directories that a commit may hold open (`RLIMIT_NOFILE`).

use jm_types::ignore_error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many descriptors as the system allows us at all, until it is dropped: a change of a thousand
/// directories is rare, and programs that we start keep the limit they know.
pub(super) struct Descriptors {
    before: Rlimit,
}

impl Descriptors {
    pub(super) fn as_many_as_allowed() -> Self {
        let before = getrlimit(Resource::Nofile);
        // Without them a large change fails, and says so.
        let all = Rlimit { current: before.maximum, ..before };
        ignore_error(
            setrlimit(Resource::Nofile, all),
            "a limit that stays low is met by an error that says so",
        );
        Self { before }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        ignore_error(
            setrlimit(Resource::Nofile, self.before),
            "a limit that stays high does no harm",
        );
    }
}
