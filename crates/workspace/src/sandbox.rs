//! The boundary: which paths tools may touch (FR-VAL-03..07).
//!
//! Law: only the sandbox makes a `SafePath`, and only a `SafePath` reaches the disk. It holds no
//! link, was matched against the deny patterns, and is opened without following links.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_types::{DenialReason, ErrorKind, ToolError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::denies::{DEFAULT_DENIES, DenyList};
use crate::launch::is_placeholder;
use crate::names::{Protection, protected_part, protection};
use crate::open::Opening;
use crate::path::{Absolute, Asked, PathPolicy};
use crate::placed::Placed;
use crate::resolve::{Dead, Found, Reach, resolve};

/// What the person configured (CFG-SBX-01).
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    pub allowed_roots: Vec<PathBuf>,
    pub denied_patterns: Vec<String>,
    pub include_default_denies: bool,
    pub policy: PathPolicy,
    /// Absolute paths that tools never change, whoever approves: our configuration and state.
    pub never_write: Vec<PathBuf>,
}

impl SandboxSettings {
    pub fn rooted_at(root: impl Into<PathBuf>) -> Self {
        Self {
            allowed_roots: vec![root.into()],
            denied_patterns: Vec::new(),
            include_default_denies: true,
            policy: PathPolicy::FORGE,
            never_write: Vec::new(),
        }
    }
}

#[derive(Debug, Error)]
pub enum SandboxError {
    #[error("no workspace root is configured")]
    NoRoots,
    #[error("workspace root {}: {error}", path.display())]
    Root { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Pattern(String),
}

/// A directory that tools work in, held open: renaming or replacing it changes nothing for us.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    /// Canonical at construction.
    path: PathBuf,
    /// As the person wrote it, so that paths spelt through a link to the root are understood.
    written: PathBuf,
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, SandboxError> {
        let fail = |error: std::io::Error| SandboxError::Root { path: path.to_owned(), error };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::open(path, flags, Mode::empty()).map_err(|e| fail(e.into()))?;
        let written = std::path::absolute(path).map_err(fail)?;
        let canonical = std::fs::canonicalize(path).map_err(fail)?;
        Ok(Self { fd, path: canonical, written })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
pub struct Sandbox {
    roots: Vec<Arc<Root>>,
    denied: DenyList,
    never_write: Vec<PathBuf>,
    policy: PathPolicy,
    opening: Opening,
    /// Where relative paths begin, below the first root.
    base: PathBuf,
}

/// A path inside a root, without links, that no pattern denies.
#[derive(Debug, Clone)]
pub struct SafePath {
    root: Arc<Root>,
    relative: PathBuf,
    asked: String,
    found: Found,
    wants_directory: bool,
    opening: Opening,
}

impl Sandbox {
    pub fn new(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        let roots = settings
            .allowed_roots
            .iter()
            .map(|path| Root::open(path).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let first = roots.first().ok_or(SandboxError::NoRoots)?;
        let opening = Opening::best(first);
        let defaults = if settings.include_default_denies { DEFAULT_DENIES } else { &[] };
        let patterns =
            defaults.iter().copied().chain(settings.denied_patterns.iter().map(String::as_str));
        let denied = DenyList::new(patterns).map_err(SandboxError::Pattern)?;
        let canonical = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or(path.clone());
        let never_write = settings.never_write.iter().map(canonical).collect();
        let base = PathBuf::new();
        Ok(Self { roots, denied, never_write, policy: settings.policy, opening, base })
    }

    /// Everything that the process itself may touch; relative paths begin in `directory`.
    pub fn unconfined(directory: &Path) -> Result<Self, SandboxError> {
        let settings = SandboxSettings {
            include_default_denies: false,
            policy: PathPolicy::RESOLVE,
            ..SandboxSettings::rooted_at("/")
        };
        let base = directory.strip_prefix("/").unwrap_or(directory).to_owned();
        Ok(Self { base, ..Self::new(&settings)? })
    }

    /// Opens by `opening` instead of the best way; both are held to the same promise.
    #[must_use]
    pub fn with_opening(self, opening: Opening) -> Self {
        Self { opening, ..self }
    }

    pub fn opening(&self) -> Opening {
        self.opening
    }

    /// Where relative paths begin and commands run.
    pub fn working_root(&self) -> &Root {
        &self.roots[0]
    }

    pub fn roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().map(Arc::as_ref)
    }

    /// Where a path lies that was refused.
    pub fn placed(&self, attempted: &Path) -> Placed {
        let root = self.working_root().path();
        Placed::new(root, &root.join(&self.base), attempted)
    }

    /// Finds out what a path names. Reads directory entries inside the root, nothing else.
    pub fn resolve(&self, path: &str) -> Result<SafePath, ToolError> {
        let asked = Asked::parse(path, &self.base, self.policy)?;
        let (root, asked) = self.choose_root(asked)?;
        let safe = self.find(root, &asked)?;
        self.check_denied(&safe)?;
        if asked.wants_directory && matches!(safe.found, Found::File | Found::Special(_)) {
            return Err(not_a_directory(asked.text));
        }
        Ok(safe)
    }

    fn choose_root<'a>(&self, asked: Asked<'a>) -> Result<(&Arc<Root>, Asked<'a>), ToolError> {
        if !asked.absolute {
            return Ok((&self.roots[0], asked));
        }
        debug_assert_eq!(self.policy.absolute, Absolute::Beneath);
        let beneath = |root| {
            let root: &Arc<Root> = root;
            let below = asked.beneath(&root.path).or_else(|| asked.beneath(&root.written))?;
            Some((root, below))
        };
        // The innermost of nested roots, so that the shortest relative path is judged.
        self.roots
            .iter()
            .filter_map(beneath)
            .min_by_key(|(_, asked)| asked.below.as_os_str().len())
            .ok_or_else(|| outside(asked.text))
    }

    fn find(&self, root: &Arc<Root>, asked: &Asked<'_>) -> Result<SafePath, ToolError> {
        let safe = |relative, found| SafePath {
            root: Arc::clone(root),
            relative,
            asked: asked.text.to_owned(),
            found,
            wants_directory: asked.wants_directory,
            opening: self.opening,
        };
        #[cfg(target_os = "linux")]
        if let (Opening::Kernel, Some(relative)) = (self.opening, asked.plain())
            && let Ok(handle) = self.opening.look(root, &relative)
        {
            let stat = fs::fstat(&handle).map_err(|e| io_error(asked.text, e))?;
            return Ok(safe(relative, Found::from_type(FileType::from_raw_mode(stat.st_mode))));
        }
        let reach = match root.path.parent() {
            None => Reach::Everything,
            Some(_) => Reach::Beneath,
        };
        let resolved = resolve(root.as_fd(), asked.parts(), reach)
            .map_err(|dead| explain(dead, asked.text))?;
        Ok(safe(resolved.relative, resolved.found))
    }

    /// Both what the path names and how it was spelt are matched (T-SBX-03).
    fn check_denied(&self, path: &SafePath) -> Result<(), ToolError> {
        let hit = self.denied.matching(&path.absolute()).or_else(|| {
            // The usual spelling is the canonical path itself.
            let differs = path.relative.as_os_str() != path.asked.as_str();
            let spelt = differs.then(|| path.root.path.join(path.asked.trim_start_matches('/')))?;
            self.denied.matching(&spelt)
        });
        match hit {
            None => Ok(()),
            Some(pattern) => Err(DenialReason::DeniedPatternMatched {
                attempted: PathBuf::from(&path.asked),
                pattern: pattern.to_owned(),
            }
            .into()),
        }
    }

    /// What writing to the path needs.
    pub fn protection(&self, path: &SafePath) -> Protection {
        let absolute = path.absolute();
        if self.never_write.iter().any(|never| absolute.starts_with(never)) {
            return Protection::Never;
        }
        protection(&path.relative)
    }

    /// Our own configuration and state are no tool's business, whoever approves.
    pub fn refuse_own(&self, path: &SafePath) -> Result<(), ToolError> {
        match self.protection(path) {
            Protection::Never => Err(DenialReason::ProtectedPath {
                attempted: PathBuf::from(&path.asked),
                why: "it is Journeyman's own configuration or state".to_owned(),
            }
            .into()),
            Protection::NeedsPerson(_) | Protection::RunsInBuilds | Protection::None => Ok(()),
        }
    }

    /// The names at the top of each root that a person decides about, and are there.
    pub fn protected_at_top(&self) -> BTreeSet<PathBuf> {
        let entries = self.roots().filter_map(|root| std::fs::read_dir(root.path()).ok()).flatten();
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let is_protected = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            protected_part(Path::new(name)).is_some() && !is_placeholder(path)
        };
        paths.filter(is_protected).collect()
    }

    /// Our own configuration and state.
    pub(crate) fn own(&self) -> &[PathBuf] {
        &self.never_write
    }

    pub(crate) fn denies(&self, absolute: &Path) -> bool {
        self.denied.matching(absolute).is_some()
    }

    /// A child that a walk met in a directory that it may enter: named, not followed.
    pub(crate) fn denies_in(&self, directory: &Path, name: &OsStr) -> bool {
        self.denied.denies_in(directory, name)
    }
}

impl SafePath {
    /// Canonical and absolute (FR-VAL-04a): the key under which a file is remembered.
    pub fn absolute(&self) -> PathBuf {
        self.root.path.join(&self.relative)
    }

    /// Canonical, relative to its root.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// As it was asked for.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    pub fn found(&self) -> Found {
        self.found
    }

    /// Spelt with a trailing slash: no file can have this name.
    pub fn names_a_directory(&self) -> bool {
        self.wants_directory
    }

    pub fn is_missing(&self) -> bool {
        matches!(self.found, Found::Missing { .. })
    }

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub(crate) fn opening(&self) -> Opening {
        self.opening
    }

    pub(crate) fn open(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        self.opening.open(&*self.root, &self.relative, flags, Mode::empty())
    }
}

fn outside(path: &str) -> ToolError {
    ToolError::outside(path).hint("use a path relative to the workspace root")
}

fn not_a_directory(path: &str) -> ToolError {
    ToolError::io(path, "is not a directory")
}

pub(crate) fn io_error(path: &str, error: Errno) -> ToolError {
    match error {
        Errno::NOENT => ToolError::not_found(path),
        Errno::LOOP => ToolError::io(path, "was replaced by a symbolic link meanwhile"),
        Errno::XDEV => outside(path),
        error => system_error(path, error),
    }
}

/// What the system said, told apart where somebody acts on the difference.
pub(crate) fn system_error(path: impl Into<PathBuf>, error: Errno) -> ToolError {
    let (path, message) = (path.into(), plain(error));
    ToolError::new(match error {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::PermissionDenied { path, message },
        Errno::NOSPC | Errno::DQUOT => ErrorKind::NoSpace { path, message },
        _ => ErrorKind::Io { path, message },
    })
}

/// The system's words for an error, without the number.
pub(crate) fn plain(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn explain(dead: Dead, path: &str) -> ToolError {
    match dead {
        Dead::Outside => outside(path),
        Dead::LinkOutside => ToolError::outside(path).hint(
            "the path goes through a symbolic link that leads out of the workspace; such links are not followed",
        ),
        Dead::AbsoluteLink => ToolError::outside(path)
            .hint("the path goes through an absolute symbolic link; only relative links that stay inside the workspace are followed"),
        Dead::Loop => ToolError::io(path, "too many symbolic links, perhaps a loop"),
        Dead::NotADirectory(file) => {
            ToolError::io(path, format!("{} is not a directory", file.display()))
        }
        Dead::UpFromNothing(missing) => ToolError::io(
            path,
            format!("`..` behind {}, which does not exist", missing.display()),
        ),
        Dead::Io(error) => io_error(path, error),
    }
}
