//! The index of a workspace's files: what a command changed is found by looking
//! before and after.
//!
//! Law: a file whose stat did not move is not read again; what lies beyond the budget is not
//! guessed at but said. `.git`, what the project ignores and our own state are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jm_types::Digest;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::file::{OpenDirectory, OpenFile};
use crate::ignored::{IgnoreFiles, Ignored};
use crate::listing::{DirectoryListing, ListedName, Skip, WalkRules};
use crate::names::protected_part;
use crate::placeholder::is_placeholder;
use crate::sandbox::Sandbox;

/// The time, bytes and files that one look may cost.
#[derive(Debug, Clone, Copy)]
pub struct LookBudget {
    /// The longest that one look may take.
    pub time: Duration,
    /// Bytes that one look may hash.
    pub bytes: u64,
    /// Files that one look may meet.
    pub files: usize,
}

impl Default for LookBudget {
    fn default() -> Self {
        Self { time: Duration::from_secs(3), bytes: 256 * 1024 * 1024, files: 100_000 }
    }
}

/// A file as its directory entry describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// Bytes.
    pub size: u64,
    /// Seconds and nanoseconds of the last write.
    pub modified: (i64, i64),
    /// Seconds and nanoseconds of the last change of the inode.
    pub changed: (i64, i64),
    /// The inode's number.
    pub inode: u64,
    /// Type and permission bits.
    pub mode: u32,
}

impl FileStat {
    fn new(raw: &fs::Stat) -> Self {
        Self {
            size: u64::try_from(raw.st_size).unwrap_or(0),
            modified: (raw.st_mtime, raw.st_mtime_nsec as i64),
            changed: (raw.st_ctime, raw.st_ctime_nsec as i64),
            inode: raw.st_ino,
            mode: raw.st_mode & 0o7777,
        }
    }
}

/// A file as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// The directory entry at that look.
    pub stat: FileStat,
    /// The hash of the content that belongs to it.
    pub sha256: Digest,
    /// It was left alone for long enough before it was read: a later change shows in its stat.
    pub is_settled: bool,
}

/// The files and directories of a workspace, by canonical path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// Files by absolute path.
    pub files: BTreeMap<PathBuf, IndexedFile>,
    /// Permission bits of directories by absolute path.
    pub directories: BTreeMap<PathBuf, u32>,
    /// Paths that the project ignores, and those that tools may not read.
    pub ignored: BTreeSet<PathBuf>,
    /// Paths that were met and could not be looked into: unreadable, too large, neither file nor directory.
    pub passed_over: BTreeMap<PathBuf, FileStat>,
    /// The reason why the walk ended early.
    pub cut: Option<String>,
}

/// Takes the content of each file that was read. The time that it takes is time of the look.
pub type ContentSink<'a> = &'a mut dyn FnMut(&Path, &IndexedFile, Vec<u8>);

struct Looking<'a> {
    sandbox: &'a Sandbox,
    known: &'a Index,
    keep: ContentSink<'a>,
    index: Index,
    began: Instant,
    budget: LookBudget,
    bytes: u64,
    /// Large files, looked at when all others were: one of them must not cost the rest.
    later: Vec<LargeFile>,
    /// Seconds and nanoseconds now: a file changed this recently may change again unseen.
    now: (i64, i64),
}

impl Index {
    /// Looks at the working root. `known` saves reading what did not move.
    pub fn look(
        sandbox: &Sandbox,
        known: &Index,
        budget: LookBudget,
        keep: ContentSink<'_>,
    ) -> Index {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let mut looking = Looking {
            sandbox,
            known,
            keep,
            index: Index::default(),
            began: Instant::now(),
            budget,
            bytes: 0,
            later: Vec::new(),
            now: (now.tv_sec, now.tv_nsec),
        };
        looking.walk();
        looking.index
    }
}

/// A file that is larger than this waits until the others were looked at.
const LARGE: u64 = 8 * 1024 * 1024;

struct LargeFile {
    relative: PathBuf,
    absolute: PathBuf,
    stat: fs::Stat,
}

struct IndexLevel {
    directory: OpenDirectory,
    ignored: Ignored,
    relative: PathBuf,
    /// Those that were not visited yet, by name.
    entries: std::vec::IntoIter<ListedName>,
}

impl Looking<'_> {
    fn walk(&mut self) {
        let Ok(root) = self.sandbox.resolve(".") else { return };
        let Ok(directory) = OpenDirectory::open(&root) else { return };
        let start = self.level(directory, &Ignored::default(), PathBuf::new());
        let mut levels: Vec<IndexLevel> = start.into_iter().collect();
        while let Some(level) = levels.last_mut() {
            if let Some(why) = self.exhausted() {
                self.index.cut = Some(why);
                return;
            }
            let Some(entry) = level.entries.next() else {
                levels.pop();
                continue;
            };
            if let Some(below) = self.visit(level, entry) {
                levels.push(below);
            }
        }
        self.large_files();
    }

    /// The smaller before the larger; one that there is no time for is named.
    fn large_files(&mut self) {
        let mut later = std::mem::take(&mut self.later);
        later.sort_by_key(|one| one.stat.st_size);
        for LargeFile { relative, absolute, stat } in later {
            let open = || {
                let path = self.sandbox.resolve(relative.to_str()?).ok()?;
                OpenFile::open(&path).ok().map(|opened| opened.file.into())
            };
            let is_known = self.exhausted().is_none() && {
                let opened = open().ok_or(rustix::io::Errno::NOENT);
                self.read(opened, &absolute, FileStat::new(&stat))
            };
            if !is_known {
                self.pass_over(absolute, &stat);
            }
        }
    }

    fn exhausted(&self) -> Option<String> {
        let files = self.index.files.len();
        if files >= self.budget.files {
            return Some(format!("only the first {files} files were looked at"));
        }
        if self.bytes > self.budget.bytes {
            return Some(format!("after reading {} bytes the rest was not looked at", self.bytes));
        }
        let elapsed = self.began.elapsed();
        (elapsed > self.budget.time)
            .then(|| format!("after {:.1} s the rest was not looked at", elapsed.as_secs_f64()))
    }

    /// Enters and lists a directory; `None` when it cannot be looked into.
    fn level(
        &self,
        directory: OpenDirectory,
        above: &Ignored,
        relative: PathBuf,
    ) -> Option<IndexLevel> {
        let (sandbox, ignore_files) = (self.sandbox, IgnoreFiles::Git);
        let rules = WalkRules { sandbox, ignore_files, skips_hidden: false };
        let DirectoryListing { directory, ignored, mut entries } =
            DirectoryListing::new(directory, above, rules).ok()?;
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Some(IndexLevel { directory, ignored, relative, entries: entries.into_iter() })
    }

    fn visit(&mut self, level: &IndexLevel, entry: ListedName) -> Option<IndexLevel> {
        let ListedName { name, skip, .. } = entry;
        let relative = level.relative.join(&name);
        let absolute = self.sandbox.working_root().path().join(&relative);
        match skip {
            Some(Skip::NotOfTheProject) => return None,
            _ if self.sandbox.own().contains(&absolute) => return None,
            Some(Skip::Hidden | Skip::Ignored | Skip::Denied) => {
                self.index.ignored.insert(absolute);
                return None;
            }
            None => {}
        }
        let stat = fs::statat(&level.directory, &*name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        // What stands for a protected name while a command of any session runs is no file of the project.
        let is_stand_in = protected_part(&relative).is_some() && is_placeholder(&absolute);
        let has_a_name = relative.to_str().is_some();
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if has_a_name => {
                let below = level.directory.enter(&name).ok();
                let below = below.and_then(|below| self.level(below, &level.ignored, relative));
                match &below {
                    Some(below) if is_stand_in && below.entries.len() == 0 => {}
                    Some(_) => drop(self.index.directories.insert(absolute, stat.st_mode & 0o7777)),
                    None => self.pass_over(absolute, &stat),
                }
                return below;
            }
            FileType::RegularFile if is_stand_in => {}
            FileType::RegularFile if has_a_name && self.is_as_it_was(&absolute, &stat) => {}
            FileType::RegularFile if has_a_name && FileStat::new(&stat).size > LARGE => {
                self.later.push(LargeFile { relative, absolute, stat });
            }
            FileType::RegularFile if has_a_name => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = fs::openat(&level.directory, &*name, flags, Mode::empty());
                if !self.read(opened, &absolute, FileStat::new(&stat)) {
                    self.pass_over(absolute, &stat);
                }
            }
            _ => self.pass_over(absolute, &stat),
        }
        None
    }

    fn pass_over(&mut self, absolute: PathBuf, stat: &fs::Stat) {
        self.index.passed_over.insert(absolute, FileStat::new(stat));
    }

    /// Takes over what is known of a file whose stat did not move, without reading it.
    fn is_as_it_was(&mut self, absolute: &Path, raw: &fs::Stat) -> bool {
        let known = self.known.files.get(absolute);
        let same = known.filter(|known| known.stat == FileStat::new(raw) && known.is_settled);
        let found = same.map(|known| self.index.files.insert(absolute.to_owned(), known.clone()));
        found.is_some()
    }

    /// `false` when the file could not be looked into.
    fn read(
        &mut self,
        opened: rustix::io::Result<rustix::fd::OwnedFd>,
        absolute: &Path,
        stat: FileStat,
    ) -> bool {
        if self.bytes + stat.size > self.budget.bytes {
            return false;
        }
        let Ok(bytes) = opened.and_then(|fd| read_all(fd, stat.size)) else {
            return self.unread(absolute, stat);
        };
        self.bytes += bytes.len() as u64;
        let (sha256, is_settled) = (Digest::of(&bytes), !self.is_recent(&stat));
        let file = IndexedFile { stat, sha256, is_settled };
        (self.keep)(absolute, &file, bytes);
        self.index.files.insert(absolute.to_owned(), file);
        true
    }

    /// A file that can no longer be read but was not written since is what it was.
    fn unread(&mut self, absolute: &Path, stat: FileStat) -> bool {
        let Some(known) = self.known.files.get(absolute) else { return false };
        let old = &known.stat;
        let same = (old.size, old.modified, old.inode) == (stat.size, stat.modified, stat.inode);
        if same {
            let file = IndexedFile { stat, ..known.clone() };
            self.index.files.insert(absolute.to_owned(), file);
        }
        same
    }

    /// Two changes within one tick of the clock leave the same times, so a file that changed in the
    /// tick in which it is read may change again unseen. Where times are whole seconds, the file
    /// system knows no finer ones.
    fn is_recent(&self, stat: &FileStat) -> bool {
        let nanoseconds = |(s, n): (i64, i64)| s.saturating_mul(1_000_000_000).saturating_add(n);
        let is_coarse = stat.changed.1 == 0 && stat.modified.1 == 0;
        let tick = if is_coarse { 2_000_000_000 } else { 20_000_000 };
        nanoseconds(self.now).saturating_sub(nanoseconds(stat.changed)) < tick
    }
}

fn read_all(fd: rustix::fd::OwnedFd, size: u64) -> rustix::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file that grows while it is read is cut; its stat will have moved when we look again.
    let read = std::fs::File::from(fd).take(size.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| {
        rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO)
    })?;
    Ok(bytes)
}

/// A path that differs between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexChange {
    /// Absolute.
    pub path: PathBuf,
    /// The file at the first look; `None` where there was none.
    pub before: Option<IndexedFile>,
    /// The file at the second look; `None` where there was none.
    pub after: Option<IndexedFile>,
}

/// The changes between two looks, and what cannot be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexDifference {
    /// Files that were created, changed or deleted.
    pub files: Vec<IndexChange>,
    /// Directories with their permission bits before and after.
    pub directories: Vec<(PathBuf, Option<u32>, Option<u32>)>,
    /// The reason why it is not everything.
    pub gap: Option<String>,
}

/// Names that a gap gives.
const NAMED: usize = 5;

impl Index {
    /// Only what both looks could see is compared: what one of them passed over was not created by
    /// being seen, nor deleted by not being seen.
    pub fn difference(&self, later: &Index) -> IndexDifference {
        let mut difference = IndexDifference::default();
        let mut untold: BTreeSet<&Path> = merged(self.passed_over.keys(), later.passed_over.keys())
            .into_iter()
            .filter(|path| self.passed_over.get(*path) != later.passed_over.get(*path))
            .map(PathBuf::as_path)
            .collect();
        for path in merged(self.files.keys(), later.files.keys()) {
            let (before, after) = (self.files.get(path), later.files.get(path));
            let same = match (before, after) {
                (Some(a), Some(b)) => a.sha256 == b.sha256 && a.stat.mode == b.stat.mode,
                (Some(_), None) => !later.could_see(path),
                (None, _) => !self.could_see(path),
            };
            if !same {
                let (before, after) = (before.cloned(), after.cloned());
                difference.files.push(IndexChange { path: path.clone(), before, after });
            } else if before.is_some() != after.is_some() && !self.ignores(path, later) {
                untold.insert(path);
            }
        }
        for path in merged(self.directories.keys(), later.directories.keys()) {
            let (before, after) = (self.directories.get(path), later.directories.get(path));
            let told = self.could_see(path) && later.could_see(path);
            if before != after && told {
                difference.directories.push((path.clone(), before.copied(), after.copied()));
            }
        }
        difference.gap = self.cut.clone().or_else(|| later.cut.clone()).or_else(|| named(&untold));
        difference
    }

    /// One of the two looks was told not to look there.
    fn ignores(&self, path: &Path, later: &Index) -> bool {
        path.ancestors().any(|above| self.ignored.contains(above) || later.ignored.contains(above))
    }

    /// A path that is not here is known not to exist.
    pub fn could_see(&self, path: &Path) -> bool {
        let hides = |above| self.passed_over.contains_key(above) || self.ignored.contains(above);
        self.cut.is_none() && !path.ancestors().any(hides)
    }
}

fn merged<'a>(
    one: impl Iterator<Item = &'a PathBuf>,
    other: impl Iterator<Item = &'a PathBuf>,
) -> BTreeSet<&'a PathBuf> {
    one.chain(other).collect()
}

fn named(paths: &BTreeSet<&Path>) -> Option<String> {
    let names: Vec<String> =
        paths.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    match paths.len() {
        0 => None,
        count if count <= NAMED => Some(format!("not looked into: {}", names.join(", "))),
        count => Some(format!("not looked into: {} and {} more", names.join(", "), count - NAMED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox_settings::SandboxSettings;

    /// Same size, same inode, and often the same times.
    #[test]
    fn a_file_that_changes_right_after_it_was_read_is_read_again() {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
        let path = sandbox.working_root().path().join("a");
        let mut known = Index::default();
        for number in 100..400 {
            let content = number.to_string();
            std::fs::write(&path, &content).unwrap();
            let index = Index::look(&sandbox, &known, LookBudget::default(), &mut |_, _, _| {});
            let file = &index.files[&path];
            assert_eq!(file.sha256, Digest::of(content.as_bytes()), "{number}");
            known = index;
        }
    }

    #[test]
    fn a_bad_line_of_an_ignore_file_costs_no_other_line() {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
        let root = sandbox.working_root().path();
        std::fs::write(root.join(".gitignore"), "before\n[z-a]\nafter\n").unwrap();
        for name in ["before", "after", "kept"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let index =
            Index::look(&sandbox, &Index::default(), LookBudget::default(), &mut |_, _, _| {});
        let files: Vec<_> = index.files.keys().filter_map(|path| path.file_name()).collect();
        assert_eq!(files, [".gitignore", "kept"]);
    }

    /// First by name, last in turn; and the largest is the one that there is no budget for.
    #[test]
    fn a_large_file_does_not_cost_the_others() {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
        let root = sandbox.working_root().path();
        let sizes = [("a", 3 * LARGE), ("b", 1), ("c", 2 * LARGE), ("d/e", 1), ("f", LARGE)];
        std::fs::create_dir(root.join("d")).unwrap();
        for (name, size) in sizes {
            std::fs::File::create(root.join(name)).unwrap().set_len(size).unwrap();
        }
        let look = |budget| {
            let mut order = Vec::new();
            let index = Index::look(&sandbox, &Index::default(), budget, &mut |path, _, _| {
                order.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            });
            (index, order)
        };
        let patient = LookBudget { time: Duration::MAX, ..LookBudget::default() };
        assert_eq!(look(patient).1, ["b", "d/e", "f", "c", "a"]);
        let (index, order) = look(LookBudget { bytes: 4 * LARGE, ..patient });
        assert_eq!(order, ["b", "d/e", "f", "c"]);
        assert_eq!(index.cut, None);
        assert!(index.passed_over.contains_key(&root.join("a")));
    }
}
