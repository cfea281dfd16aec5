//! The first matches by path, whatever the order in which files are searched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::sink::FileHits;

pub(super) struct Collector {
    most: usize,
    kept: Mutex<Kept>,
    /// Set once there is a bound, so that until then no thread waits for the lock.
    is_bounded: AtomicBool,
}

#[derive(Default)]
struct Kept {
    files: BTreeMap<PathBuf, FileHits>,
    matches: usize,
    /// Files from here on cannot be among the first.
    bound: Option<PathBuf>,
}

impl Collector {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default(), is_bounded: AtomicBool::new(false) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether a file, or all of a directory, comes too late to matter.
    pub(super) fn is_beyond(&self, path: &Path) -> bool {
        self.is_bounded.load(Ordering::Relaxed)
            && self.kept().bound.as_deref().is_some_and(|bound| path >= bound)
    }

    pub(super) fn add(&self, path: PathBuf, hits: FileHits) {
        let mut guard = self.kept();
        let kept = &mut *guard;
        // Two places that a call names may hold one file.
        if kept.files.contains_key(&path) {
            return;
        }
        kept.matches += hits.matches();
        kept.files.insert(path, hits);
        while let Some(last) = kept.files.last_entry()
            && kept.matches - last.get().matches() >= self.most
        {
            let (path, dropped) = last.remove_entry();
            kept.matches -= dropped.matches();
            kept.bound = Some(path);
            self.is_bounded.store(true, Ordering::Relaxed);
        }
    }

    /// The files by path, cut to the number of matches, and whether there were more.
    pub(super) fn finish(self) -> (Vec<FileHits>, bool) {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_cut = kept.bound.is_some() || kept.matches > self.most;
        let mut files: Vec<FileHits> = kept.files.into_values().collect();
        if let Some(last) = files.last_mut() {
            let mut over = kept.matches.saturating_sub(self.most);
            while over > 0 {
                let Some(line) = last.lines.last_mut() else { break };
                let cut = over.min(line.hits.len());
                line.hits.truncate(line.hits.len() - cut);
                over -= cut;
                if line.hits.is_empty() {
                    last.lines.pop();
                }
            }
        }
        (files, is_cut)
    }
}
