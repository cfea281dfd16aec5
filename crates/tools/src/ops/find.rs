//! Find: the files of a tree by glob, with `**` and braces, past what is ignored.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jm_types::{ErrorKind, ToolError};
use jm_workspace::tree::{Next, Passing, shown, walk};
use jm_workspace::{EntryKind, Found};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::not_found;
use crate::tool::{PathUse, Use};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// A directory.
    pub path: String,
    /// A pattern without a slash is compared with names, at any depth; one with a slash with whole
    /// paths from the directory.
    pub patterns: Vec<String>,
    pub hidden: bool,
    pub ignored: bool,
    pub most: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub path: String,
    pub kind: EntryKind,
    pub size: Option<u64>,
    pub modified_epoch_ms: Option<i64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct FindOutcome {
    /// By path.
    pub files: Vec<FoundFile>,
    /// There are more than were asked for.
    pub is_cut: bool,
    /// Time ran out before everything was looked at.
    pub is_partial: bool,
}

impl Find {
    pub fn run(&self, scope: &Scope) -> Result<FindOutcome, ToolError> {
        let (by_name, by_path) = self.compiled()?;
        let sandbox = &scope.workspace.sandbox;
        let start = sandbox.resolve(&self.path)?;
        if let Found::Missing { .. } = start.found() {
            return Err(not_found(sandbox, &start));
        }
        let passing = Passing { hidden: !self.hidden, ignored: !self.ignored };
        let found: Mutex<Vec<(PathBuf, FoundFile)>> = Mutex::default();
        let stop_at = scope.deadline - scope.deadline.saturating_duration_since(Instant::now()) / 5;
        walk(sandbox, &start, passing, &scope.cancel, &|met| {
            if met.kind == EntryKind::Directory {
                return if Instant::now() < stop_at { Next::On } else { Next::Stop };
            }
            let name = met.path.file_name().map(Path::new);
            if by_path.is_match(&met.path) || name.is_some_and(|name| by_name.is_match(name)) {
                let entry = met.entry();
                let file = FoundFile {
                    path: shown(&self.path, &met.path),
                    kind: met.kind,
                    size: entry.size,
                    modified_epoch_ms: entry.modified_epoch_ms,
                };
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.push((met.path.clone(), file));
            }
            Next::On
        })?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
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
