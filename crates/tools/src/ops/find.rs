//! Find: the files of a tree by glob, with `**` and braces, past what is ignored.

use std::path::Path;
use std::time::Instant;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jm_files::EntryKind;
use jm_files::walk::{WalkEntry, WalkFilter, WalkStep};
use jm_types::{ErrorKind, ToolError};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::gather::{Choice, Gathering};
pub use crate::ops::gather::{FindOutcome, FoundFile};
use crate::ops::resolve_existing;
use crate::tool::{PathUse, Use};

/// A search for files by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// A directory.
    pub path: String,
    /// A pattern without a slash is compared with names, at any depth; one with a slash with whole
    /// paths from the directory.
    pub patterns: Vec<String>,
    /// Enters and tells hidden names too.
    pub hidden: bool,
    /// Enters and tells ignored names too.
    pub ignored: bool,
    /// The most files of the outcome.
    pub most: usize,
}

impl Find {
    /// Walks the tree and matches every name.
    pub fn run(&self, scope: &Scope) -> Result<FindOutcome, ToolError> {
        let (by_name, by_path) = self.compiled()?;
        let sandbox = &scope.workspace.sandbox;
        let start = resolve_existing(sandbox, &self.path)?;
        let passing = WalkFilter { hidden: !self.hidden, ignored: !self.ignored };
        let stop_at = scope.deadline - scope.deadline.saturating_duration_since(Instant::now()) / 5;
        let choose = |met: &WalkEntry<'_>| {
            if met.kind == EntryKind::Directory {
                let is_late = Instant::now() >= stop_at;
                return Choice::Leave(if is_late { WalkStep::Stop } else { WalkStep::On });
            }
            let name = met.path.file_name().map(Path::new);
            let is_match =
                by_path.is_match(&met.path) || name.is_some_and(|name| by_name.is_match(name));
            if is_match { Choice::Take(WalkStep::On) } else { Choice::Leave(WalkStep::On) }
        };
        let gathering = Gathering { start: &start, name: &self.path, passing, most: usize::MAX };
        let mut found = gathering.run(scope, &choose)?;
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        let is_cut = found.len() > self.most;
        let files = found.into_iter().take(self.most).map(|(_, file)| file).collect();
        Ok(FindOutcome { files, is_cut, is_partial: Instant::now() >= stop_at })
    }

    fn compiled(&self) -> Result<(GlobSet, GlobSet), ToolError> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let bad = |pattern: &str, why: String| {
            let message = format!("`{pattern}` is not a glob: {why}");
            ToolError::new(ErrorKind::BadPattern { message })
                .hint("`*` stays within a name, `**/` crosses directories, `{a,b}` is either")
        };
        for pattern in &self.patterns {
            let trimmed = pattern.trim_start_matches("./");
            let glob = GlobBuilder::new(trimmed)
                .literal_separator(true)
                .build()
                .map_err(|error| bad(pattern, error.kind().to_string()))?;
            if trimmed.contains('/') {
                paths.add(glob)
            } else {
                names.add(glob)
            };
        }
        let build = |set: &GlobSetBuilder| {
            set.build().map_err(|error| bad(&self.patterns.join(" "), error.kind().to_string()))
        };
        Ok((build(&names)?, build(&paths)?))
    }
}

impl Operation for Find {
    type Outcome = FindOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.path, Use::List)]
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<FindOutcome, ToolError> {
        self.run(execution.scope)
    }
}
