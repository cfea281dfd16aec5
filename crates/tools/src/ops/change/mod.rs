//! Change: every write, edit and patch of every tool.
//!
//! Law: new contents are computed in memory, for all files, before anything is shown or written.
//! A preview and a commit come from the same computation, and a refusal changes nothing.

mod care;
pub mod diff;
pub mod edit;
mod encoding;
pub mod lp1;
mod misfit;
pub mod parens;
mod stage;
mod stale;
mod syntax;
mod target;

use std::path::PathBuf;
use std::sync::Arc;

use jm_types::replace::{MOST_BYTES, ReplaceError};
use jm_types::{ErrorKind, ToolError};
use jm_workspace::{CommitLog, Committed, Digest, Extent, FileChange, Found, SafePath, commit};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::ops::not_found;
use crate::tool::Preview;
pub use edit::{Edit, Existing};
use stage::{Staged, stage};
use target::Target;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub files: Vec<FileEdit>,
    pub freshness: FreshnessRule,
    pub parents: Parents,
    pub missing: Missing,
    pub mode: Mode,
    pub on_error: OnError,
    pub backup: Backup,
    pub care: Care,
    pub new_text: NewText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub path: String,
    pub edit: Edit,
}

/// The rule that files must have been read, and be unchanged since (FR-TOOL-PATCH-02a..d).
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

/// What happens where a file to be written or appended to does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Create,
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Commit,
    /// Everything but the writing.
    DryRun,
}

/// What one edit that fails does to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// None is applied.
    Stop,
    /// Its file stays as it was; the other files change.
    Skip,
}

/// Whether old contents are also kept where a person can find them by a path (FJ-BACKUP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    None,
    Keep,
}

/// Whether brackets, read-only files and uncommitted work are looked at (FJ-PAREN, FJ-GIT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    Plain,
    Careful,
}

/// What may be put beside the bytes that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewText {
    /// What the file's encoding can express.
    Expressible,
    /// Anything: bytes are edited, not text (IK-EDIT).
    Raw,
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
    /// The size of the file afterwards.
    pub bytes: usize,
    /// How many bytes of content the call gave: of an append, what was appended.
    pub given: usize,
    /// How often a text was replaced.
    pub replaced: usize,
    pub notes: Vec<String>,
    /// It was added to git's index.
    pub is_staged: bool,
    pub edits: Vec<EditDone>,
    pub backup: Option<PathBuf>,
    /// What would change, where nothing was written.
    pub preview: Option<String>,
}

/// What became of one edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDone {
    /// Its number among the edits of the change.
    pub index: usize,
    /// The file, as answers name it.
    pub path: String,
    /// The lines it was about, where it named some.
    pub lines: Option<(usize, usize)>,
    pub is_changing: bool,
    pub failure: Option<EditFailure>,
}

/// Why an edit was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditFailure {
    Own(ToolError),
    /// Another edit of its file failed.
    Another,
}

impl EditFailure {
    /// In one sentence.
    pub fn message(&self) -> String {
        match self {
            EditFailure::Own(error) => error.to_string(),
            EditFailure::Another => {
                "not applied, because another edit of this file failed".to_owned()
            }
        }
    }
}

/// All files of a change together grow by no more than one of them may.
fn check_growth(target: &mut Target, grown: &mut usize) -> Result<(), ToolError> {
    let before = target.before.as_ref().map_or(0, |content| content.len());
    *grown += target.after.as_ref().map_or(0, Vec::len).saturating_sub(before);
    if *grown <= MOST_BYTES {
        return Ok(());
    }
    // What is given up needs no memory any more.
    target.after = None;
    let (file, why) =
        (PathBuf::from(target.path.asked()), ReplaceError::TooLarge { bytes: *grown });
    Err(ToolError::new(ErrorKind::EditFailed { file, why: Box::new(why) })
        .hint("make the change in several calls"))
}

impl Change {
    pub fn new(files: Vec<FileEdit>, freshness: FreshnessRule) -> Self {
        Self {
            files,
            freshness,
            parents: Parents::Make,
            missing: Missing::Create,
            mode: Mode::Commit,
            on_error: OnError::Stop,
            backup: Backup::None,
            care: Care::Plain,
            new_text: NewText::Expressible,
        }
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
        let targets = self.computed(scope)?;
        match self.mode {
            Mode::Commit => self.commit(scope, &targets, log),
            Mode::DryRun => {
                Ok(targets.iter().map(|target| self.dry_report(scope, target)).collect())
            }
        }
    }

    /// The diff, and the files it was made from. Reads, never writes.
    pub fn preview(&self, scope: &Scope) -> Result<Preview, ToolError> {
        let targets = self.computed(scope)?;
        let changed = targets.iter().filter(|target| target.is_changed());
        Ok(Preview {
            text: changed.map(Target::diff).collect(),
            files: targets.iter().map(Target::state).collect(),
            warnings: targets
                .iter()
                .flat_map(|target| self.named_warnings(scope, target))
                .collect(),
        })
    }

    /// What the files would hold, and that the model would know it.
    pub(crate) fn foresee(&self, scope: &Scope) -> Result<Foreseen, ToolError> {
        if self.mode == Mode::DryRun {
            return Ok(Foreseen::NOTHING);
        }
        let mut files = Vec::new();
        for target in self.computed(scope)?.iter().filter(|target| target.is_changed()) {
            let Some(after) = &target.after else { continue };
            let extent = self.extent(scope, target);
            scope.seen.record(&target.path, Digest::of(after), extent);
            files.push((target.path.absolute(), Arc::new(after.clone())));
        }
        Ok(Foreseen::Files(files))
    }

    /// All files with their new contents; nothing is written yet.
    fn computed(&self, scope: &Scope) -> Result<Vec<Target>, ToolError> {
        let mut targets = self.targets(scope)?;
        for target in &mut targets {
            let loaded =
                target.load(&scope.expected).and_then(|()| self.check_there(scope, target));
            loaded.or_else(|error| self.settle(target, error))?;
        }
        for target in targets.iter_mut().filter(|target| !target.is_given_up()) {
            self.check_fresh(scope, target).or_else(|error| self.settle(target, error))?;
        }
        let mut grown = 0;
        for target in targets.iter_mut().filter(|target| !target.is_given_up()) {
            // A text that is not found in a foreign encoding is not found because of it.
            let expressible = self.check_new_text(target);
            let computed = expressible.and_then(|()| target.compute(&self.files));
            computed
                .and_then(|()| self.check(target))
                .and_then(|()| check_growth(target, &mut grown))
                .or_else(|error| self.settle(target, error))?;
        }
        Ok(targets)
    }

    /// There is no part of a file that does not exist.
    fn check_there(&self, scope: &Scope, target: &Target) -> Result<(), ToolError> {
        let edit = &self.files[target.current].edit;
        match (edit, &target.before) {
            (Edit::Lines { .. } | Edit::Text { .. }, None) => {
                Err(not_found(&scope.workspace.sandbox, &target.path))
            }
            _ => Ok(()),
        }
    }

    /// One failure is the change's, or only its file's.
    fn settle(&self, target: &mut Target, error: ToolError) -> Result<(), ToolError> {
        match self.on_error {
            OnError::Stop => Err(self.naming(target, error)),
            OnError::Skip => {
                target.give_up(error);
                Ok(())
            }
        }
    }

    /// Of several edits, which one it was. A patch says so itself.
    fn naming(&self, target: &Target, error: ToolError) -> ToolError {
        let (number, count) = (target.current + 1, self.files.len());
        match &self.files[target.current].edit {
            Edit::Lines { .. } | Edit::Text { .. } if count > 1 => {
                error.hint(format!("this is edit {number} of {count}; no file was changed"))
            }
            _ => error,
        }
    }

    fn check_new_text(&self, target: &mut Target) -> Result<(), ToolError> {
        let (NewText::Expressible, Some(before)) = (self.new_text, &target.before) else {
            return Ok(());
        };
        for index in &target.edits {
            target.current = *index;
            encoding::check(target.path.asked(), before, &self.files[*index].edit)?;
        }
        Ok(())
    }

    fn check(&self, target: &Target) -> Result<(), ToolError> {
        match self.care {
            Care::Careful if target.is_changed() => care::check(target),
            Care::Careful | Care::Plain => Ok(()),
        }
    }

    fn named_warnings(&self, scope: &Scope, target: &Target) -> Vec<String> {
        let path = target.path.asked();
        let warnings = self.warnings(scope, target).into_iter();
        warnings.map(|warning| format!("{path}: {warning}")).collect()
    }

    /// What a person or a model should know of a file that changes.
    fn warnings(&self, scope: &Scope, target: &Target) -> Vec<String> {
        if !target.is_changed() {
            return Vec::new();
        }
        let uncommitted = match self.care {
            Care::Careful => care::warning(&scope.workspace.sandbox, target),
            Care::Plain => None,
        };
        uncommitted.into_iter().chain(target.remark()).collect()
    }

    fn commit(
        &self,
        scope: &Scope,
        targets: &[Target],
        log: &mut dyn CommitLog,
    ) -> Result<Vec<ChangedFile>, ToolError> {
        let changes: Vec<FileChange> =
            targets.iter().filter(|t| t.is_changed()).filter_map(Target::change).collect();
        let warnings: Vec<Vec<String>> =
            targets.iter().map(|target| self.warnings(scope, target)).collect();
        let backups = self.keep_backups(scope, targets)?;
        let committed = commit(&scope.workspace.sandbox, &changes, &scope.cancel, log)?;
        let mut committed = committed.into_iter();
        let mut reports = Vec::new();
        for ((target, backup), mut notes) in targets.iter().zip(backups).zip(warnings) {
            let done = target.is_changed().then(|| committed.next()).flatten();
            let staged = match (&done, self.care) {
                (Some(_), Care::Careful) => stage(scope, &target.path),
                (Some(_), Care::Plain) | (None, _) => Staged::No,
            };
            if let Staged::Failed(why) = &staged {
                notes.push(format!("is not staged: {why}"));
            }
            if let Some(Committed { after, notes: more, .. }) = done {
                notes.extend(more);
                // Our own write is known content: the next edit must not trip over it (FG-READMARK).
                if let Some(after) = after {
                    scope.seen.record(&target.path, after, self.extent(scope, target));
                }
            }
            let is_staged = staged == Staged::Yes;
            reports.push(ChangedFile { backup, is_staged, ..target.report(&self.files, notes) });
        }
        Ok(reports)
    }

    /// Of every file that is about to change; what cannot be kept is not changed.
    fn keep_backups(
        &self,
        scope: &Scope,
        targets: &[Target],
    ) -> Result<Vec<Option<PathBuf>>, ToolError> {
        let keep = |target: &Target| {
            let wanted = self.backup == Backup::Keep && target.is_changed();
            let before = target.before.as_ref().filter(|_| wanted);
            before.map(|before| scope.workspace.state.keep_backup(&target.path, before)).transpose()
        };
        targets.iter().map(keep).collect()
    }

    fn dry_report(&self, scope: &Scope, target: &Target) -> ChangedFile {
        let report = target.report(&self.files, self.warnings(scope, target));
        ChangedFile { preview: Some(target.diff()), ..report }
    }

    /// The files, each once whatever its spellings. All paths are judged before any is read
    /// (FR-TOOL-PATCH-01).
    fn targets(&self, scope: &Scope) -> Result<Vec<Target>, ToolError> {
        let sandbox = &scope.workspace.sandbox;
        let mut targets: Vec<Target> = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let path = sandbox.resolve(&file.path)?;
            sandbox.refuse_own(&path)?;
            let known = targets.iter_mut().find(|known| known.path.absolute() == path.absolute());
            let is_expected = scope.expected.get(&path.absolute()).is_some();
            if let Edit::Whole { existing: Existing::Refuse(instead), .. } = &file.edit
                && (is_expected || path.found() == Found::File)
            {
                return Err(edit::already_exists(&file.path, instead));
            }
            if self.parents == Parents::MustExist && !is_expected {
                check_parent(&path)?;
            }
            if self.missing == Missing::Refuse && path.is_missing() && !is_expected {
                return Err(not_found(sandbox, &path));
            }
            match known {
                Some(known) => known.edits.push(index),
                None => targets.push(Target::new(path, index)),
            }
        }
        check_apart(&targets)?;
        Ok(targets)
    }

    fn check_fresh(&self, scope: &Scope, target: &Target) -> Result<(), ToolError> {
        let (FreshnessRule::Required, Some(before)) = (self.freshness, &target.before) else {
            return Ok(());
        };
        let digest = Digest::of(before);
        let path = target.path.absolute();
        let stale = match target.edits.iter().any(|index| self.files[*index].edit.is_whole()) {
            true => scope.freshness.staleness_of_whole(&path, &digest),
            false => scope.freshness.staleness(&path, &digest),
        };
        let Some(reason) = stale else { return Ok(()) };
        // The refusal shows the lines in question, so it counts as a read of that part.
        scope.seen.record(&target.path, digest, Extent::Part);
        let edits = target.edits.iter().map(|index| &self.files[*index].edit);
        Err(stale::refusal(&target.path, reason, before, edits))
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

/// No file of a change is the directory of another one.
fn check_apart(targets: &[Target]) -> Result<(), ToolError> {
    let paths: Vec<PathBuf> = targets.iter().map(|target| target.path.absolute()).collect();
    let below =
        |outer: usize, inner: usize| outer != inner && paths[inner].starts_with(&paths[outer]);
    let all = 0..targets.len();
    let pair = all.clone().find_map(|outer| Some((outer, all.clone().find(|i| below(outer, *i))?)));
    match pair.map(|(outer, inner)| (targets[outer].path.asked(), targets[inner].path.asked())) {
        None => Ok(()),
        Some((outer, inner)) => Err(ToolError::bad_args(format!(
            "{outer} cannot be a file and the directory of {inner}"
        ))
        .hint("give one of the two another name")),
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
