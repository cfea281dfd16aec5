//! The boundary: which paths tools may touch (FR-VAL-03..07).
//!
//! Law: only the sandbox makes a `SafePath`, and only a `SafePath` reaches the disk. It holds no
//! link, was matched against the deny patterns, and is opened without following links.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_system::os_error::errno_text;
use jm_types::{DenialReason, ErrorKind, ToolError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::denies::{DEFAULT_DENIES, DenyList};
use crate::git_control as control;
use crate::names::{Protection, protection};
use crate::open::Opening;
use crate::path::{Asked, Dots, PathPolicy, cleaned};
use crate::refused_path::Placed;
use crate::resolve::{Dead, Found, Reach, resolve};
use crate::sandbox_settings::{SandboxError, SandboxSettings};
use crate::system_secrets;

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

    /// The canonical path at the time of opening.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The roots, and the rules by which a path in them may be opened.
#[derive(Debug)]
pub struct Sandbox {
    roots: Vec<Arc<Root>>,
    denied: DenyList,
    never_write: Vec<PathBuf>,
    policy: PathPolicy,
    opening: Opening,
    /// The directory below the first root in which relative paths begin.
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
    /// Opens the roots and compiles the patterns.
    pub fn new(settings: &SandboxSettings) -> Result<Self, SandboxError> {
        let roots = settings
            .allowed_roots
            .iter()
            .map(|path| Root::open(path).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let first = roots.first().ok_or(SandboxError::NoRoots)?;
        let opening = Opening::best(first);
        let defaults = if settings.include_default_denies { DEFAULT_DENIES } else { &[] };
        let mut patterns: Vec<&str> = defaults.to_vec();
        let systems = system_secrets::patterns().filter(|_| settings.include_default_denies);
        for pattern in systems {
            if roots.iter().any(|root| may_hold(&root.path, pattern)) {
                patterns.push(pattern);
            }
        }
        patterns.extend(settings.denied_patterns.iter().map(String::as_str));
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

    /// The implementation that opens its paths.
    pub fn opening(&self) -> Opening {
        self.opening
    }

    /// The directory in which relative paths begin and commands run.
    pub fn working_root(&self) -> &Root {
        &self.roots[0]
    }

    /// All roots, the working directory first.
    pub fn roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().map(Arc::as_ref)
    }

    /// The place of a path that was refused.
    pub fn placed(&self, attempted: &Path) -> Placed {
        let root = self.working_root().path();
        Placed::new(root, &root.join(&self.base), attempted)
    }

    /// Finds out what a path names. Reads directory entries inside the root, nothing else.
    pub fn resolve(&self, path: &str) -> Result<SafePath, ToolError> {
        self.look_up(path).map_err(|mut error| {
            if let ErrorKind::SandboxViolation(DenialReason::PathOutsideSandbox {
                resolved, ..
            }) = &mut error.kind
            {
                *resolved = self.placed(resolved).path;
            }
            error
        })
    }

    fn look_up(&self, path: &str) -> Result<SafePath, ToolError> {
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
        let first = &self.roots[0];
        let spelt = match (self.policy.dots, asked.absolute) {
            (Dots::Clean, _) => cleaned(&asked.from(&first.path)),
            (Dots::Refuse | Dots::Resolve, true) => asked.below.to_path_buf(),
            (Dots::Refuse | Dots::Resolve, false) => return Ok((first, asked)),
        };
        let found = self.beneath(&spelt).or_else(|| self.beneath_through_links(&spelt));
        let (root, below) = found.ok_or_else(|| outside(asked.text))?;
        Ok((root, asked.at(below)))
    }

    /// The root that an absolute path begins with, and the rest. The innermost of nested roots, so that
    /// the shortest relative path is judged.
    fn beneath(&self, spelt: &Path) -> Option<(&Arc<Root>, PathBuf)> {
        let below = |root| {
            let root: &Arc<Root> = root;
            let names = [&root.path, &root.written];
            let below = names.into_iter().find_map(|name| spelt.strip_prefix(name).ok())?;
            Some((root, below.to_owned()))
        };
        let all = self.roots.iter().filter_map(below);
        all.min_by_key(|(_, below)| below.as_os_str().len())
    }

    /// The same for a path that leads to a root through links outside, such as a working directory
    /// that was entered through one. It only finds the spelling that the root knows: what is opened is
    /// opened from the root's descriptor, and a path that leads anywhere else is outside, be it there
    /// or not. The links of procfs are none of a file system's names and lead nowhere.
    fn beneath_through_links(&self, spelt: &Path) -> Option<(&Arc<Root>, PathBuf)> {
        let names: Vec<_> = spelt.components().collect();
        let real = |count: usize| {
            let prefix: PathBuf = names[..count].iter().collect();
            let real = std::fs::canonicalize(prefix).ok()?;
            (!is_procfs(&real)).then_some((count, real))
        };
        (1..=names.len()).map_while(real).find_map(|(count, real)| {
            let (root, below) = self.beneath(&real)?;
            let rest: PathBuf = names[count..].iter().collect();
            Some((root, below.join(rest)))
        })
    }

    fn find(&self, root: &Arc<Root>, asked: &Asked<'_>) -> Result<SafePath, ToolError> {
        let spelt = match self.policy.dots {
            Dots::Clean if asked.below.as_os_str().is_empty() => ".".to_owned(),
            Dots::Clean => asked.below.to_string_lossy().into_owned(),
            Dots::Refuse | Dots::Resolve => asked.text.to_owned(),
        };
        let safe = |relative, found| SafePath {
            root: Arc::clone(root),
            relative,
            asked: spelt.clone(),
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
            .map_err(|dead| explain(dead, asked.text, &root.path))?;
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

    /// The protection of the path against writes.
    pub fn protection(&self, path: &SafePath) -> Protection {
        let absolute = path.absolute();
        if self.never_write.iter().any(|never| absolute.starts_with(never)) {
            return Protection::Never;
        }
        let by_name = protection(&path.relative);
        let is_control = || self.is_in_bare_repository(path);
        match by_name {
            Protection::None | Protection::RunsInBuilds if is_control() => {
                Protection::NeedsPerson("git reads its configuration or runs programs from it")
            }
            by_name => by_name,
        }
    }

    /// Tells whether a path belongs to git's control surface in a directory that is a repository without
    /// being called `.git`.
    fn is_in_bare_repository(&self, path: &SafePath) -> bool {
        path.relative.ancestors().skip(1).any(|folder| {
            let below = path.relative.strip_prefix(folder).unwrap_or(&path.relative);
            control::entry_of(below).is_some()
                && control::is_git_directory_at(&path.root.path.join(folder))
        })
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

    /// Our own configuration and state.
    pub fn own(&self) -> &[PathBuf] {
        &self.never_write
    }

    /// Matches an absolute path against the deny patterns.
    pub fn denies(&self, absolute: &Path) -> bool {
        self.denied.matching(absolute).is_some()
    }

    /// A child that a walk met in a directory that it may enter: named, not followed.
    pub fn denies_in(&self, directory: &Path, name: &OsStr) -> bool {
        self.denied.denies_in(directory, name)
    }

    /// The patterns of what no tool may touch, as they were written.
    pub fn denied_patterns(&self) -> impl Iterator<Item = &str> {
        self.denied.written()
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

    /// As it was asked for; normalised where the policy says so.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// The kind of thing that stood there when it was resolved.
    pub fn found(&self) -> Found {
        self.found
    }

    /// Spelt with a trailing slash: no file can have this name.
    pub fn names_a_directory(&self) -> bool {
        self.wants_directory
    }

    /// True if nothing stood there when it was resolved.
    pub fn is_missing(&self) -> bool {
        matches!(self.found, Found::Missing { .. })
    }

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub(crate) fn opening(&self) -> Opening {
        self.opening
    }

    /// Opens a directory for reading, to run something in it.
    pub fn open_directory(&self) -> rustix::io::Result<OwnedFd> {
        self.open(OFlags::RDONLY | OFlags::DIRECTORY)
    }

    pub(crate) fn open(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        self.opening.open(&*self.root, &self.relative, flags, Mode::empty())
    }
}

/// Tells whether a path lies on procfs, whose links lead to whatever a process has open.
fn is_procfs(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return fs::statfs(path).is_ok_and(|system| system.f_type == fs::PROC_SUPER_MAGIC);
    #[cfg(not(target_os = "linux"))]
    path.starts_with("/proc")
}

/// Tells whether an absolute pattern can name something in a root, by the first name of both: in most roots
/// it cannot, and then it costs nothing.
fn may_hold(root: &Path, pattern: &str) -> bool {
    root.iter().nth(1).is_none_or(|first| Path::new(pattern).iter().nth(1) == Some(first))
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

/// The error for an errno, told apart where a caller acts on the difference.
pub fn system_error(path: impl Into<PathBuf>, error: Errno) -> ToolError {
    let (path, message) = (path.into(), errno_text(error));
    ToolError::new(match error {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::PermissionDenied { path, message },
        Errno::NOSPC | Errno::DQUOT => ErrorKind::NoSpace { path, message },
        _ => ErrorKind::Io { path, message },
    })
}

fn explain(dead: Dead, path: &str, root: &Path) -> ToolError {
    match dead {
        Dead::Outside => outside(path),
        Dead::LinkOutside(to) => ToolError::leading_outside(path, cleaned(&root.join(to))).hint(
            "the path follows a symbolic link out of the workspace, which is not allowed",
        ),
        Dead::AbsoluteLink(to) => ToolError::leading_outside(path, cleaned(&to))
            .hint("the path follows an absolute symbolic link; only relative links inside the workspace are followed"),
        Dead::Loop => ToolError::io(path, "too many symbolic links, perhaps a loop"),
        Dead::NotADirectory(file) => {
            ToolError::io(path, format!("{} is not a directory", file.display()))
        }
        Dead::UpFromNothing(missing) => ToolError::not_found(path)
            .hint(format!("`..` follows {}, which does not exist", missing.display())),
        Dead::Io(error) => io_error(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NFR-ERR-02: a denial says where the path leads, by `..` or by a link, read no further than the root.
    #[test]
    fn a_path_outside_is_told_with_the_place_it_leads_to() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let root = base.join("w");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        };
        link("../x", "out");
        link("../../x/y", "sub/far");
        link("/etc", "etc");
        let cases = [
            ("../secret", base.join("secret")),
            ("sub/../../w2/f", base.join("w2/f")),
            ("out", base.join("x")),
            ("out/a/../b", base.join("x/b")),
            ("sub/far/f", base.join("x/y/f")),
            ("etc/hosts", PathBuf::from("/etc/hosts")),
            ("/usr/lib/x", PathBuf::from("/usr/lib/x")),
        ];
        for policy in [PathPolicy::FORGE, PathPolicy::RESOLVE] {
            let settings = SandboxSettings { policy, ..SandboxSettings::rooted_at(&root) };
            let sandbox = Sandbox::new(&settings).unwrap();
            // Where `..` is not accepted, nothing behind it is looked up.
            let is_judged = |path: &str| policy == PathPolicy::RESOLVE || !path.contains("/../");
            for (path, leads_to) in cases.iter().filter(|(path, _)| is_judged(path)) {
                let error = sandbox.resolve(path).unwrap_err();
                let ErrorKind::SandboxViolation(DenialReason::PathOutsideSandbox {
                    attempted,
                    resolved,
                }) = error.kind
                else {
                    panic!("{path}: {error}")
                };
                assert_eq!((attempted.as_path(), &resolved), (Path::new(path), leads_to));
            }
        }
    }
}
