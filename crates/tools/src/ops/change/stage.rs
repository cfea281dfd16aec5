//! `git add` after a change, where the person switched it on (FJ-GIT, FJ-WRITE).
//!
//! Law: git runs as every command does, confined, because a repository can name programs of its own
//! (filters). A file that cannot be staged is changed all the same, and the result says so.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use jm_files::{Found, SafePath, Staging};
use jm_process::command::{CommandEnding, CommandInput, CommandProgram};
use jm_process::confine::Access;
use jm_process::output_reader::NoListener;

use crate::context::Scope;
use crate::ops::run::{Ground, Invocation};

/// Longer than any index takes.
const PATIENCE: Duration = Duration::from_secs(10);
const KEPT: usize = 4096;

/// The result of staging a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Staged {
    /// It is not asked for, or there is no repository here.
    No,
    Yes,
    Failed(String),
}

/// Adds a file to the index of the workspace's own repository.
pub(super) fn stage_in_git(scope: &Scope, path: &SafePath) -> Staged {
    let workspace = &scope.workspace;
    let git = workspace.sandbox.resolve(".git");
    let is_repository = git.is_ok_and(|git| matches!(git.found(), Found::Directory | Found::File));
    if workspace.state.staging() == Staging::Off || !is_repository {
        return Staged::No;
    }
    let left = scope.deadline.saturating_duration_since(Instant::now());
    let invocation = Invocation {
        program: CommandProgram::Argv(words(path.relative())),
        directory: None,
        input: CommandInput::Closed,
        variables: Vec::new(),
        timeout: left.min(PATIENCE),
        keep_bytes: KEPT,
        record: None,
        access: Access::Full,
    };
    // Part of an edit, and a change of git's own index only.
    let ran = invocation.run(Ground::direct(workspace), &scope.cancel, &mut NoListener);
    match ran.map(|invoked| invoked.finished) {
        Ok(finished) if finished.ending == CommandEnding::SUCCESS => Staged::Yes,
        Ok(finished) => {
            let words = finished.stderr.render(KEPT);
            let first = words.lines().next().unwrap_or("git add did not end by itself");
            Staged::Failed(first.to_owned())
        }
        Err(error) => Staged::Failed(error.to_string()),
    }
}

/// A name is a name, whatever signs of a pattern are in it.
fn words(path: &Path) -> Vec<OsString> {
    let fixed = ["git", "--literal-pathspecs", "add", "--"].map(OsString::from);
    fixed.into_iter().chain([path.as_os_str().to_owned()]).collect()
}
