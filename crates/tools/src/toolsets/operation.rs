//! What a call asks the workspace to do, and what came of it.

use jm_types::ToolError;
use jm_workspace::CommitLog;

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::ops::calc::Calc;
use crate::ops::change::{Change, ChangedFile};
use crate::ops::find::{Find, FindOutcome};
use crate::ops::job::{JobCall, JobOutcome};
use crate::ops::listing::Listing;
use crate::ops::page::{Page, PageOutcome};
use crate::ops::posix::{GrepOutcome, PosixGlob, PosixGrep};
use crate::ops::read::{Read, ReadOutcome};
use crate::ops::report::{TestReport, TestRun};
use crate::ops::run::{Events, Run, RunOutcome};
use crate::ops::search::{Search, SearchOutcome};
use crate::ops::tasks::{Export, Exported, Tasks, TasksOutcome};
use crate::ops::walk::{Walk, WalkOutcome};
use crate::tool::{PathUse, Preview, Use};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    Read(Read),
    Page(Page),
    Walk(Walk),
    Change(Change),
    Run(Run),
    Job(JobCall),
    PosixGlob(PosixGlob),
    PosixGrep(PosixGrep),
    Search(Search),
    Find(Find),
    Listing(Listing),
    Calc(Calc),
    Test(TestRun),
    Tasks(Tasks),
    Export(Export),
}

#[derive(Debug)]
pub enum Outcome {
    Read(ReadOutcome),
    Paged(PageOutcome),
    Walked(Walk, WalkOutcome),
    Changed(Vec<ChangedFile>),
    Ran(RunOutcome),
    Job(JobOutcome),
    Globbed(Vec<String>),
    Grepped(GrepOutcome),
    Searched(SearchOutcome),
    Found(FindOutcome),
    Calculated(String),
    Tested(TestReport),
    Listed(TasksOutcome),
    Exported(Exported),
}

impl Operation {
    pub(super) fn paths(&self) -> Vec<PathUse> {
        match self {
            Operation::Read(read) => vec![PathUse::new(&read.path, Use::Read)],
            Operation::Page(page) => vec![PathUse::new(&page.path, Use::Read)],
            Operation::Walk(walk) => vec![PathUse::new(&walk.path, Use::List)],
            Operation::Change(change) => {
                change.files.iter().map(|file| PathUse::new(&file.path, Use::Write)).collect()
            }
            Operation::Calc(_) => Vec::new(),
            Operation::PosixGlob(glob) => vec![PathUse::new(glob.base(), Use::List)],
            Operation::PosixGrep(grep) => vec![PathUse::new(grep.files.base(), Use::List)],
            Operation::Search(search) => {
                let starts = search.starts.iter().map(|start| &start.path);
                let paths = std::iter::once(&search.path).chain(starts);
                paths.map(|path| PathUse::new(path, Use::Read)).collect()
            }
            Operation::Find(find) => vec![PathUse::new(&find.path, Use::List)],
            Operation::Listing(listing) => vec![PathUse::new(&listing.path, Use::List)],
            Operation::Run(run) => vec![PathUse::new(&run.directory, Use::WorkIn("cwd"))],
            Operation::Job(call) => {
                call.directory().map(|path| PathUse::new(path, Use::List)).into_iter().collect()
            }
            Operation::Test(tests) => vec![PathUse::new(&tests.directory, Use::WorkIn("cwd"))],
            Operation::Tasks(tasks) => {
                let places = tasks.action.places().into_iter();
                places.map(|place| PathUse::new(&place.path, Use::Read)).collect()
            }
            Operation::Export(export) => vec![PathUse::new(&export.path, Use::Write)],
        }
    }

    pub(super) fn preview(&self, scope: &Scope) -> Result<Option<Preview>, ToolError> {
        match self {
            Operation::Change(change) => change.preview(scope).map(Some),
            Operation::Export(export) => export.preview(scope).map(Some),
            Operation::Run(run) => Ok(Some(Preview { text: run.exact(), ..Preview::default() })),
            Operation::Test(tests) => tests.preview(scope).map(Some),
            Operation::Read(_)
            | Operation::Page(_)
            | Operation::Walk(_)
            | Operation::Job(_)
            | Operation::PosixGlob(_)
            | Operation::PosixGrep(_)
            | Operation::Search(_)
            | Operation::Find(_)
            | Operation::Listing(_)
            | Operation::Calc(_)
            | Operation::Tasks(_) => Ok(None),
        }
    }

    /// What it would leave behind; what it would show of files is in `scope.seen`.
    pub(super) fn foresee(&self, scope: &Scope) -> Foreseen {
        match self {
            // One that would fail leaves everything as it is.
            Operation::Change(change) => change.foresee(scope).unwrap_or(Foreseen::NOTHING),
            Operation::Read(read) => {
                read.foresee(scope);
                Foreseen::NOTHING
            }
            Operation::Page(page) => {
                page.foresee(scope);
                Foreseen::NOTHING
            }
            Operation::Walk(_)
            | Operation::PosixGlob(_)
            | Operation::PosixGrep(_)
            | Operation::Search(_)
            | Operation::Find(_)
            | Operation::Listing(_)
            | Operation::Calc(_)
            | Operation::Tasks(_) => Foreseen::NOTHING,
            Operation::Run(_) | Operation::Job(_) | Operation::Test(_) | Operation::Export(_) => {
                Foreseen::Unknown
            }
        }
    }

    pub(super) fn run(
        self,
        scope: &Scope,
        events: Events,
        effects: &mut dyn CommitLog,
    ) -> Result<Outcome, ToolError> {
        match self {
            Operation::Read(read) => read.run(scope).map(Outcome::Read),
            Operation::Page(page) => page.run(scope).map(Outcome::Paged),
            Operation::Walk(walk) => {
                let walked = walk.run(scope)?;
                Ok(Outcome::Walked(walk, walked))
            }
            Operation::Change(change) => change.run(scope, effects).map(Outcome::Changed),
            Operation::Run(run) => run.run(scope, events).map(Outcome::Ran),
            Operation::Job(call) => call.run(scope).map(Outcome::Job),
            Operation::PosixGlob(glob) => glob.run(scope).map(Outcome::Globbed),
            Operation::PosixGrep(grep) => grep.run(scope).map(Outcome::Grepped),
            Operation::Search(search) => search.run(scope).map(Outcome::Searched),
            Operation::Find(find) => find.run(scope).map(Outcome::Found),
            Operation::Listing(listing) => listing.run(scope).map(Outcome::Found),
            Operation::Calc(calc) => calc.run(scope).map(Outcome::Calculated),
            Operation::Test(tests) => tests.run(scope, events).map(Outcome::Tested),
            Operation::Tasks(tasks) => tasks.run(scope).map(Outcome::Listed),
            Operation::Export(export) => export.run(scope, effects).map(Outcome::Exported),
        }
    }
}
