//! A change of one or more files: loaded, edited in memory, checked, committed together.

use std::path::PathBuf;
use std::sync::Arc;

use jm_files::{CommitLog, Committed, FileChange, Found, SafePath, commit};
use jm_types::replace::{MOST_BYTES, ReplaceError};
use jm_types::{Digest, Extent};
use jm_types::{ErrorKind, ToolError};

use super::edit::{Edit, Existing, FileEdit, already_exists};
use super::outcome::ChangedFile;
use super::rules::{
    Backup, Care, ChangeRules, FreshnessRule, Missing, Mode, NewText, OnError, Parents,
};
use super::stage::{Staged, stage_in_git};
use super::target::Target;
use super::{checks, encoding, stale};
use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{CallSummary, Execution, Operation};
use crate::ops::not_found;
use crate::tool::{PathUse, Preview, Use};

/// Edits that are applied together or not at all, but for [`OnError::Skip`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The edits in the order of the call.
    pub files: Vec<FileEdit>,
    /// The rules that hold for all of them.
    pub rules: ChangeRules,
}

impl Operation for Change {
    type Outcome = Vec<ChangedFile>;
    const PREVIEWS_ITS_FILES: bool = true;

    fn paths(&self) -> Vec<PathUse> {
        self.files.iter().map(|file| PathUse::new(&file.path, Use::Write)).collect()
    }

    /// The diff, and the files it was made from.
    fn preview(&self, scope: &Scope, _: CallSummary<'_>) -> Result<Option<Preview>, ToolError> {
        let targets = self.computed(scope)?;
        let changed = targets.iter().filter(|target| target.is_changed());
        Ok(Some(Preview {
            text: changed.map(Target::diff).collect(),
            files: targets.iter().map(Target::state).collect(),
            warnings: targets
                .iter()
                .flat_map(|target| self.named_warnings(scope, target))
                .collect(),
            unmasked: None,
        }))
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        // One that would fail leaves everything as it is.
        self.foreseen(scope).unwrap_or(Foreseen::NOTHING)
    }

    fn perform(self, execution: Execution<'_>) -> Result<Vec<ChangedFile>, ToolError> {
        self.run(execution.scope, execution.log)
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
    /// A change by the rules of most tools.
    pub fn new(files: Vec<FileEdit>, freshness: FreshnessRule) -> Self {
        Self { files, rules: ChangeRules::new(freshness) }
    }

    /// Computes every file, then commits all of them or reports a dry run.
    pub fn run(
        &self,
        scope: &Scope,
        log: &mut dyn CommitLog,
    ) -> Result<Vec<ChangedFile>, ToolError> {
        let targets = self.computed(scope)?;
        match self.rules.mode {
            Mode::Commit => self.commit(scope, &targets, log),
            Mode::DryRun => {
                Ok(targets.iter().map(|target| self.dry_report(scope, target)).collect())
            }
        }
    }

    /// Computes what the files would hold, and records that the model would know it.
    fn foreseen(&self, scope: &Scope) -> Result<Foreseen, ToolError> {
        if self.rules.mode == Mode::DryRun {
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
        match self.rules.on_error {
            OnError::Stop => Err(self.naming(target, error)),
            OnError::Skip => {
                target.give_up(error);
                Ok(())
            }
        }
    }

    /// Names the edit that failed, of several. A patch says so itself.
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
        let (NewText::Expressible, Some(before)) = (self.rules.new_text, &target.before) else {
            return Ok(());
        };
        for index in &target.edits {
            target.current = *index;
            encoding::check(target.path.asked(), before, &self.files[*index].edit)?;
        }
        Ok(())
    }

    fn check(&self, target: &Target) -> Result<(), ToolError> {
        match self.rules.care {
            Care::Careful if target.is_changed() => checks::check(target),
            Care::Careful | Care::Plain => Ok(()),
        }
    }

    fn named_warnings(&self, scope: &Scope, target: &Target) -> Vec<String> {
        let path = target.path.asked();
        let warnings = self.warnings(scope, target).into_iter();
        warnings.map(|warning| format!("{path}: {warning}")).collect()
    }

    /// The warnings on a file that changes.
    fn warnings(&self, scope: &Scope, target: &Target) -> Vec<String> {
        if !target.is_changed() {
            return Vec::new();
        }
        let uncommitted = match self.rules.care {
            Care::Careful => checks::warning(&scope.workspace.sandbox, target),
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
            let staged = match (&done, self.rules.care) {
                (Some(_), Care::Careful) => stage_in_git(scope, &target.path),
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

    /// Keeps a backup of every file that is about to change; what cannot be kept is not changed.
    fn keep_backups(
        &self,
        scope: &Scope,
        targets: &[Target],
    ) -> Result<Vec<Option<PathBuf>>, ToolError> {
        let keep = |target: &Target| {
            let wanted = self.rules.backup == Backup::Keep && target.is_changed();
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
                return Err(already_exists(&file.path, instead));
            }
            if self.rules.parents == Parents::MustExist && !is_expected {
                check_parent(&path)?;
            }
            if self.rules.missing == Missing::Refuse && path.is_missing() && !is_expected {
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

    /// Refuses to write a file with unsaved changes in an editor.
    fn check_saved(&self, scope: &Scope, target: &Target) -> Result<(), ToolError> {
        let path = target.path.absolute();
        let before = target.before.as_ref().filter(|_| scope.expected.get(&path).is_none());
        let buffers = scope.workspace.state.buffers();
        let stale = before.and_then(|before| buffers.staleness(&path, before));
        let Some(reason) = stale else { return Ok(()) };
        let file = PathBuf::from(target.path.asked());
        Err(ToolError::new(ErrorKind::StaleFile { file, reason })
            .hint("ask the user to save the file or to discard the changes, then try again"))
    }

    fn check_fresh(&self, scope: &Scope, target: &Target) -> Result<(), ToolError> {
        self.check_saved(scope, target)?;
        let (FreshnessRule::Required, Some(before)) = (self.rules.freshness, &target.before) else {
            return Ok(());
        };
        let digest = Digest::of(before);
        let path = target.path.absolute();
        let is_whole = target.edits.iter().any(|index| self.files[*index].edit.is_whole());
        let stale = if is_whole {
            scope.freshness.staleness_of_whole(&path, &digest)
        } else {
            scope.freshness.staleness(&path, &digest)
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
