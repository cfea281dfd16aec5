//! How many directories a commit may hold open.

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
        setrlimit(Resource::Nofile, all).unwrap_or_default();
        Self { before }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.before).unwrap_or_default();
    }
}
