//! The execution of a search, on the threads of the walk.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::Override;
use jm_files::walk::{WalkEntry, WalkFilter, WalkStep, shown_path, walk};
use jm_files::{EntryKind, Found, OpenFile};
use jm_types::ToolError;

use super::collect::Collector;
use super::globs::compile_globs;
use super::request::{MissingStart, Search, SearchStart};
use super::sink::{self, FileHits};
use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::not_found;
use crate::tool::{PathUse, Use};

/// A share of the call's time is left for saying what was found.
const TIME_SHARE: f64 = 0.8;
const MOST_FILES: usize = 1_000_000;
const MOST_BYTES: u64 = 16 << 30;

/// The matches of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SearchOutcome {
    /// By path.
    pub files: Vec<FileHits>,
    /// Files that were looked at.
    pub searched: usize,
    /// There are more matches than were asked for.
    pub is_cut: bool,
    /// The files that were not looked at, and the reasons.
    pub notes: Vec<String>,
}

impl Search {
    /// Searches on several threads, within the call's time.
    pub fn run(&self, scope: &Scope) -> Result<SearchOutcome, ToolError> {
        let matcher = self.query.matcher()?;
        let overrides = compile_globs(&self.globs)?;
        let searching = Searching::new(self, scope, &matcher);
        for start in self.all_starts() {
            searching.below(scope, &start, &overrides)?;
        }
        Ok(searching.finish())
    }

    fn all_starts(&self) -> Vec<SearchStart> {
        let whole = SearchStart { path: self.path.clone(), missing: MissingStart::NotFound };
        if self.starts.is_empty() { vec![whole] } else { self.starts.clone() }
    }
}

impl Operation for Search {
    type Outcome = SearchOutcome;

    fn paths(&self) -> Vec<PathUse> {
        let starts = self.starts.iter().map(|start| &start.path);
        let paths = std::iter::once(&self.path).chain(starts);
        paths.map(|path| PathUse::new(path, Use::Read)).collect()
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<SearchOutcome, ToolError> {
        self.run(execution.scope)
    }
}

/// The directory that a walk begins in: its name in answers, and its path from the root.
struct Base {
    name: String,
    path: PathBuf,
}

impl Base {
    fn of(name: &str) -> Self {
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let path = Path::new(name).components().filter(is_name).collect();
        Self { name: name.to_owned(), path }
    }
}

/// One search under way, shared by the threads that do it.
struct Searching<'a> {
    search: &'a Search,
    matcher: &'a grep_regex::RegexMatcher,
    collector: Collector,
    stop_at: Instant,
    began: Instant,
    searched: AtomicUsize,
    bytes: AtomicU64,
    too_large: AtomicUsize,
    unread: AtomicUsize,
    ran_out: AtomicUsize,
}

impl<'a> Searching<'a> {
    fn new(search: &'a Search, scope: &Scope, matcher: &'a grep_regex::RegexMatcher) -> Self {
        let began = Instant::now();
        let left = scope.deadline.saturating_duration_since(began);
        Self {
            search,
            matcher,
            collector: Collector::new(search.most),
            stop_at: began + left.mul_f64(TIME_SHARE).min(Duration::from_secs(3600)),
            began,
            searched: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
            too_large: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            ran_out: AtomicUsize::new(0),
        }
    }

    /// Searches a directory or one file.
    fn below(&self, scope: &Scope, start: &SearchStart, globs: &Override) -> Result<(), ToolError> {
        let sandbox = &scope.workspace.sandbox;
        let place = sandbox.resolve(&start.path)?;
        match (place.found(), start.missing) {
            (Found::Missing { .. }, MissingStart::NotFound) => Err(not_found(sandbox, &place)),
            (Found::Missing { .. }, MissingStart::Invalid(argument)) => {
                let hints = not_found(sandbox, &place).hints.into_iter();
                let wrong = format!("{argument}: {} does not exist", place.asked());
                Err(hints.fold(ToolError::bad_args(wrong), ToolError::hint))
            }
            (Found::Missing { .. }, MissingStart::PassedOver) => Ok(()),
            (Found::Directory, _) => {
                let from = Base::of(place.asked());
                let passing =
                    WalkFilter { hidden: !self.search.hidden, ignored: !self.search.ignored };
                let visit = |met: &WalkEntry<'_>| self.visit(&from, globs, met);
                walk(sandbox, &place, passing, &scope.cancel, &visit)
            }
            (Found::File | Found::Special(_), _) => {
                let file = OpenFile::open(&place)?;
                // Somebody who names a file means it, however large it is.
                self.file(PathBuf::from(place.asked()), place.asked().to_owned(), file);
                Ok(())
            }
        }
    }

    fn visit(&self, from: &Base, overrides: &Override, met: &WalkEntry<'_>) -> WalkStep {
        if self.is_exhausted() {
            self.ran_out.fetch_add(1, Ordering::Relaxed);
            return WalkStep::Stop;
        }
        let is_directory = met.kind == EntryKind::Directory;
        let has_starts = !self.search.starts.is_empty();
        let path = if has_starts { from.path.join(&met.path) } else { met.path.clone() };
        let is_left_out = !overrides.is_empty()
            && overrides.matched(Path::new("/").join(&path), is_directory).is_ignore();
        if is_left_out || self.collector.is_beyond(&path) {
            return WalkStep::Past;
        }
        if met.kind == EntryKind::File {
            match met.open() {
                Ok(Some(file)) if file.size > self.search.most_file_bytes => {
                    self.too_large.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Some(file)) => self.file(path, shown_path(&from.name, &met.path), file),
                Ok(None) => {}
                Err(_) => drop(self.unread.fetch_add(1, Ordering::Relaxed)),
            }
        }
        WalkStep::On
    }

    fn is_exhausted(&self) -> bool {
        self.searched.load(Ordering::Relaxed) >= MOST_FILES
            || self.bytes.load(Ordering::Relaxed) >= MOST_BYTES
            || Instant::now() >= self.stop_at
    }

    fn file(&self, path: PathBuf, name: String, file: OpenFile) {
        self.searched.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(file.size, Ordering::Relaxed);
        let found = SEARCHER.with_borrow_mut(|searchers| {
            let searcher =
                searchers.entry(self.search.context).or_insert_with_key(|c| searcher(*c));
            sink::search(searcher, self.matcher, &file, self.search)
        });
        match found {
            Ok(lines) if lines.is_empty() => {}
            Ok(lines) => self.collector.add(path, FileHits { path: name, lines }),
            Err(_) => drop(self.unread.fetch_add(1, Ordering::Relaxed)),
        }
    }

    fn finish(self) -> SearchOutcome {
        let searched = self.searched.into_inner();
        let mut notes = Vec::new();
        if self.ran_out.into_inner() > 0 {
            let seconds = self.began.elapsed().as_secs_f64();
            notes.push(format!(
                "the search stopped after {searched} files and {seconds:.1} s; narrow it by path or glob"
            ));
        }
        let passed_over = |count: usize, why: &str| {
            let files = if count == 1 { "file was" } else { "files were" };
            (count > 0).then(|| format!("{count} {files} {why}"))
        };
        let limit = self.search.most_file_bytes;
        let too_large = format!("not searched, being larger than {limit} bytes");
        notes.extend(passed_over(self.too_large.into_inner(), &too_large));
        notes.extend(passed_over(self.unread.into_inner(), "not readable"));
        let (files, is_cut) = self.collector.finish();
        SearchOutcome { files, searched, is_cut, notes }
    }
}

thread_local! {
    /// A searcher has buffers worth keeping, one for each number of context lines.
    static SEARCHER: std::cell::RefCell<std::collections::HashMap<usize, Searcher>> =
        std::cell::RefCell::default();
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .build()
}
