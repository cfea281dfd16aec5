//! Change: every write, edit and patch of every tool.
//!
//! Law: new contents are computed in memory, for all files, before anything is shown or written.
//! A preview and a commit come from the same computation, and a refusal changes nothing.

pub mod diff;
pub mod edit;
pub mod lp1;
pub mod parens;
mod stale;

use std::path::PathBuf;
use std::sync::Arc;

use jm_types::ToolError;
use jm_workspace::{
    After, CommitLog, Digest, Extent, FileChange, Found, OpenFile, SafePath, Sandbox, commit,
};

use crate::context::Scope;
use crate::tool::Preview;
pub use edit::{Edit, Existing};

/// A file larger than this is not edited in memory.
const MOST_EDITED: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub files: Vec<FileEdit>,
    pub freshness: FreshnessRule,
    pub parents: Parents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub path: String,
    pub edit: Edit,
}

/// Whether files must have been read, and be unchanged since (FR-TOOL-PATCH-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshnessRule {
    Required,
    NotRequired,
}

/// What happens where a new file's directory does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    Make,
    MustExist,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    Created,
    Modified,
    /// The edits led back to what was there.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    pub did: Did,
    pub bytes: usize,
    /// How often a text was replaced.
    pub replaced: usize,
    pub notes: Vec<String>,
}

/// One file with its old and new content, and which edits made it.
#[derive(Debug)]
struct Target {
    path: SafePath,
    edits: Vec<usize>,
    before: Option<Arc<Vec<u8>>>,
    after: Option<Vec<u8>>,
    replaced: usize,
}

impl Change {
    pub fn new(files: Vec<FileEdit>, freshness: FreshnessRule) -> Self {
        Self { files, freshness, parents: Parents::Make }
    }

    #[must_use]
    pub fn parents(self, parents: Parents) -> Self {
        Self { parents, ..self }
    }

    pub fn run(
        &self,
        scope: &Scope,
        log: &mut dyn CommitLog,
    ) -> Result<Vec<ChangedFile>, ToolError> {
        let mut targets = self.targets(&scope.workspace.sandbox)?;
        self.check_fresh(scope, &targets)?;
        self.compute(&mut targets)?;
        let changes: Vec<FileChange> =
            targets.iter().filter(|t| t.is_changed()).filter_map(Target::change).collect();
        let committed = commit(&scope.workspace.sandbox, &changes, &scope.cancel, log)?;
        let mut committed = committed.into_iter();
        let mut reports = Vec::new();
        for target in &targets {
            let committed = target.is_changed().then(|| committed.next()).flatten();
            let (after, notes) = committed.map(|done| (done.after, done.notes)).unwrap_or_default();
            // Our own write is known content: the next edit must not trip over it (FG-READMARK).
            if let Some(after) = after {
                scope.seen.record(&target.path, after, self.extent(scope, target));
            }
            reports.push(target.report(notes));
        }
        Ok(reports)
    }

    /// The diff, and the files it was made from. Reads, never writes.
    pub fn preview(&self, scope: &Scope) -> Result<Preview, ToolError> {
        let mut targets = self.targets(&scope.workspace.sandbox)?;
        self.check_fresh(scope, &targets)?;
        self.compute(&mut targets)?;
        let text = targets.iter().filter(|target| target.is_changed()).map(Target::diff).collect();
        Ok(Preview { text, files: targets.iter().map(Target::state).collect() })
    }

    /// The files, each once whatever its spellings. All paths are judged before any is read
    /// (FR-TOOL-PATCH-01).
    fn targets(&self, sandbox: &Sandbox) -> Result<Vec<Target>, ToolError> {
        let mut targets: Vec<Target> = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let path = sandbox.resolve(&file.path)?;
            sandbox.refuse_own(&path)?;
            let known = targets.iter_mut().find(|known| known.path.absolute() == path.absolute());
            if let (Edit::Whole { existing: Existing::Refuse, .. }, Found::File) =
                (&file.edit, path.found())
            {
                return Err(edit::already_exists(&file.path));
            }
            if self.parents == Parents::MustExist {
                check_parent(&path)?;
            }
            match known {
                Some(known) => known.edits.push(index),
                None => targets.push(Target::new(path, index)),
            }
        }
        targets.iter_mut().try_for_each(Target::load)?;
        Ok(targets)
    }

    fn check_fresh(&self, scope: &Scope, targets: &[Target]) -> Result<(), ToolError> {
        if self.freshness == FreshnessRule::NotRequired {
            return Ok(());
        }
        for target in targets {
            let Some(before) = &target.before else { continue };
            let digest = Digest::of(before);
            let path = target.path.absolute();
            let stale = match target.edits.iter().any(|index| self.files[*index].edit.is_whole()) {
                true => scope.freshness.staleness_of_whole(&path, &digest),
                false => scope.freshness.staleness(&path, &digest),
            };
            let Some(reason) = stale else { continue };
            // The refusal shows the lines in question, so it counts as a read of that part.
            scope.seen.record(&target.path, digest, Extent::Part);
            let edits = target.edits.iter().map(|index| &self.files[*index].edit);
            return Err(stale::refusal(&target.path, reason, before, edits));
        }
        Ok(())
    }

    /// Applies the edits in order, each on the result of the one before.
    fn compute(&self, targets: &mut [Target]) -> Result<(), ToolError> {
        for target in targets {
            for index in &target.edits {
                let file = &self.files[*index];
                let applied = file.edit.apply(&file.path, target.after.take())?;
                target.after = applied.after;
                target.replaced += applied.replaced;
            }
        }
        Ok(())
    }

    /// A file that was written whole is known whole; an edited one as far as it was before.
    fn extent(&self, scope: &Scope, target: &Target) -> Extent {
        let whole = target.edits.iter().any(|index| self.files[*index].edit.is_whole());
        let known = scope.freshness.get(&target.path.absolute()).map(|record| record.extent);
        match (whole || target.before.is_none(), known) {
            (true, _) => Extent::Whole,
            (false, Some(extent)) => extent,
            (false, None) => Extent::Part,
        }
    }
}

/// A file's directory must be there already.
fn check_parent(path: &SafePath) -> Result<(), ToolError> {
    let Found::Missing { existing } = path.found() else { return Ok(()) };
    let names = path.relative().iter().count();
    match path.relative().parent() {
        Some(parent) if existing + 1 < names => Err(ToolError::not_found(path.asked())
            .hint(format!("the directory {} does not exist", parent.display()))),
        _ => Ok(()),
    }
}

impl Target {
    fn new(path: SafePath, edit: usize) -> Self {
        Self { path, edits: vec![edit], before: None, after: None, replaced: 0 }
    }

    fn load(&mut self) -> Result<(), ToolError> {
        if let Found::Missing { .. } = self.path.found() {
            return match self.path.names_a_directory() {
                true => Err(ToolError::bad_args(format!(
                    "{} names a directory, not a file",
                    self.path.asked()
                ))),
                false => Ok(()),
            };
        }
        let mut file = OpenFile::open(&self.path)?;
        let (bytes, more) = match file.size > MOST_EDITED {
            true => (Vec::new(), true),
            false => file.read_up_to(MOST_EDITED)?,
        };
        if more {
            return Err(ToolError::limit(format!(
                "{} is larger than {MOST_EDITED} bytes, too large to edit",
                self.path.asked()
            )));
        }
        self.after = Some(bytes.clone());
        self.before = Some(Arc::new(bytes));
        Ok(())
    }

    fn is_changed(&self) -> bool {
        self.before.as_deref() != self.after.as_ref()
    }

    fn change(&self) -> Option<FileChange> {
        let after = After::content(self.after.clone()?);
        Some(FileChange { path: self.path.clone(), before: self.before.clone(), after })
    }

    fn diff(&self) -> String {
        diff::unified(
            &self.path.relative().display().to_string(),
            self.before.as_deref().map(Vec::as_slice),
            self.after.as_deref(),
        )
    }

    fn state(&self) -> (PathBuf, Option<Digest>) {
        (self.path.absolute(), self.before.as_deref().map(|bytes| Digest::of(bytes)))
    }

    fn report(&self, notes: Vec<String>) -> ChangedFile {
        ChangedFile {
            path: self.path.asked().to_owned(),
            did: match (&self.before, self.is_changed()) {
                (None, true) => Did::Created,
                (Some(_), true) => Did::Modified,
                (_, false) => Did::Nothing,
            },
            bytes: self.after.as_ref().map_or(0, Vec::len),
            replaced: self.replaced,
            notes,
        }
    }
}
