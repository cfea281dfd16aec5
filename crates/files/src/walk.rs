//! Walking a tree on several threads, and handing every file out by the directory that holds it.
//!
//! Law: each step is taken on a descriptor and follows no link, so a walk never leaves the root,
//! whatever is moved meanwhile. What a deny pattern covers is not named, entered or opened. Memory
//! and descriptors grow with the depth of the tree, not with its size.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use jm_types::{Cancel, ToolError};

use crate::file::{EntryKind, OpenDirectory, OpenFile};
use crate::ignored::{IgnoreFiles, Ignored};
use crate::listing::{DirectoryListing, ListedName, WalkRules};
use crate::sandbox::{SafePath, Sandbox};

/// Files that one thread takes at a time.
const FILES_AT_ONCE: usize = 64;
const MOST_THREADS: usize = 8;

/// The names that a walk passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkFilter {
    /// Names that begin with a dot.
    pub hidden: bool,
    /// Names in `.gitignore`, `.ignore` and `.rgignore`.
    pub ignored: bool,
}

/// A file or directory that the walk met.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    /// From where the walk began.
    pub path: PathBuf,
    /// The kind, by its own entry.
    pub kind: EntryKind,
    name: &'a OsStr,
    directory: &'a OpenDirectory,
    sandbox: &'a Sandbox,
}

impl WalkEntry<'_> {
    /// The file itself; nothing when it is no longer a regular one.
    pub fn open(&self) -> Result<Option<OpenFile>, ToolError> {
        self.directory.open_undenied(self.name)
    }

    /// Size and time, and whatever else a listing tells.
    pub fn entry(&self) -> crate::file::DirectoryEntry {
        self.directory.entry(self.sandbox, self.name.to_owned())
    }
}

/// The visitor's choice of the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkStep {
    /// Go on, also below this directory.
    On,
    /// Go on, but not below this directory.
    Past,
    /// End the walk.
    Stop,
}

/// Walks below a directory. The order is not promised; `visit` runs on several threads.
pub fn walk(
    sandbox: &Sandbox,
    start: &SafePath,
    passing: WalkFilter,
    cancel: &Cancel,
    visit: &(dyn Fn(&WalkEntry<'_>) -> WalkStep + Sync),
) -> Result<(), ToolError> {
    let directory = OpenDirectory::open(start)?;
    let ignore_files = if passing.ignored { IgnoreFiles::GitAndSearch } else { IgnoreFiles::None };
    let ignored = Ignored::above(start, ignore_files);
    let rules = WalkRules { sandbox, ignore_files, skips_hidden: passing.hidden };
    let walking = Walking {
        rules,
        cancel,
        visit,
        queue: Mutex::new(WalkQueue { jobs: vec![WalkJob::Start(directory, ignored)], busy: 0 }),
        news: Condvar::new(),
        stopped: AtomicBool::new(false),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer threads it takes longer.
            drop(std::thread::Builder::new().spawn_scoped(scope, || walking.work()));
        }
        walking.work();
    });
    cancel.checkpoint().map_err(Into::into)
}

/// A directory whose entries are handed out.
struct OpenNode {
    directory: OpenDirectory,
    path: PathBuf,
    ignored: Ignored,
}

enum WalkJob {
    Start(OpenDirectory, Ignored),
    /// A directory below, not opened yet: open ones are a scarce good.
    Below(Arc<OpenNode>, OsString),
    Files(Arc<OpenNode>, Vec<(OsString, EntryKind)>),
}

struct WalkQueue {
    /// The newest first, so that few directories are open at a time.
    jobs: Vec<WalkJob>,
    /// Jobs that are being done and may lead to more.
    busy: usize,
}

struct Walking<'a> {
    rules: WalkRules<'a>,
    cancel: &'a Cancel,
    visit: &'a (dyn Fn(&WalkEntry<'_>) -> WalkStep + Sync),
    queue: Mutex<WalkQueue>,
    news: Condvar,
    stopped: AtomicBool,
}

impl Walking<'_> {
    fn work(&self) {
        while let Some(job) = self.take() {
            match job {
                WalkJob::Start(directory, ignored) => {
                    self.list(directory, PathBuf::new(), &ignored)
                }
                WalkJob::Below(parent, name) => self.enter(&parent, &name),
                WalkJob::Files(node, names) => self.files(&node, &names),
            }
            self.done();
        }
    }

    fn queue(&self) -> MutexGuard<'_, WalkQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; `None` when none is left and no thread makes new ones.
    fn take(&self) -> Option<WalkJob> {
        let mut queue = self.queue();
        loop {
            if self.is_over() {
                queue.jobs.clear();
            }
            if let Some(job) = queue.jobs.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.news.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut queue = self.queue();
        queue.busy -= 1;
        if queue.busy == 0 {
            self.news.notify_all();
        }
    }

    fn add(&self, jobs: Vec<WalkJob>) {
        if !jobs.is_empty() {
            self.queue().jobs.extend(jobs);
            self.news.notify_all();
        }
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    fn enter(&self, parent: &OpenNode, name: &OsString) {
        // A directory that cannot be entered holds nothing for us.
        let Ok(directory) = parent.directory.enter(name) else { return };
        self.list(directory, parent.path.join(name), &parent.ignored);
    }

    fn list(&self, directory: OpenDirectory, path: PathBuf, ignored: &Ignored) {
        let Ok(listing) = DirectoryListing::new(directory, ignored, self.rules) else { return };
        let DirectoryListing { directory, ignored, entries } = listing;
        let node = Arc::new(OpenNode { directory, path, ignored });
        let mut jobs = Vec::new();
        let mut files = Vec::new();
        for ListedName { name, kind, .. } in entries.into_iter().filter(|one| one.skip.is_none()) {
            match kind {
                EntryKind::Directory => match self.visit_one(&node, &name, kind) {
                    WalkStep::On => jobs.push(WalkJob::Below(Arc::clone(&node), name)),
                    WalkStep::Past => {}
                    WalkStep::Stop => return,
                },
                _ => files.push((name, kind)),
            }
        }
        while files.len() > FILES_AT_ONCE {
            let batch = files.split_off(files.len() - FILES_AT_ONCE);
            jobs.push(WalkJob::Files(Arc::clone(&node), batch));
        }
        self.add(jobs);
        self.files(&node, &files);
    }

    fn files(&self, node: &OpenNode, files: &[(OsString, EntryKind)]) {
        for (name, kind) in files {
            if self.is_over() || self.visit_one(node, name, *kind) == WalkStep::Stop {
                return;
            }
        }
    }

    fn visit_one(&self, node: &OpenNode, name: &OsStr, kind: EntryKind) -> WalkStep {
        let (directory, sandbox) = (&node.directory, self.rules.sandbox);
        let path = node.path.join(name);
        let next = (self.visit)(&WalkEntry { path, kind, name, directory, sandbox });
        if next == WalkStep::Stop {
            self.stopped.store(true, Ordering::Relaxed);
            self.news.notify_all();
        }
        next
    }
}

/// The path of a walk's start that its finds are shown with: as asked, without `./`.
pub fn shown_path(start: &str, found: &Path) -> String {
    let trimmed = start.trim_end_matches('/');
    let base = trimmed.trim_start_matches("./");
    let found = found.to_string_lossy();
    match (base, trimmed.is_empty()) {
        ("" | ".", false) => found.into_owned(),
        ("", true) => format!("/{found}"),
        (base, _) => format!("{base}/{found}"),
    }
}
