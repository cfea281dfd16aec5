//! A path as it was asked for, judged by its spelling alone.
//!
//! Law: nothing here looks at a disk. What passes may still lead anywhere; `resolve` decides that.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use jm_types::ToolError;

const LONGEST_PATH: usize = 4095;
const LONGEST_NAME: usize = 255;

/// The spellings of paths that are accepted; a property of the workspace, never of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathPolicy {
    /// The treatment of `.` and `..`.
    pub dots: Dots,
    /// The treatment of absolute paths.
    pub absolute: Absolute,
}

/// The treatment of `.` and `..` in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// Any `..` is refused (FR-VAL-04).
    Refuse,
    /// `..` is followed on descriptors, and refused where it would leave the root.
    Resolve,
    /// `.`, `..` and doubled slashes are taken away by spelling alone, as Go's `filepath.Clean` and
    /// Emacs's `expand-file-name` do; the path that is left is judged, and is the one that answers name.
    Clean,
}

/// The treatment of absolute paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absolute {
    /// They are an error.
    Refuse,
    /// Accepted when it begins with a root, component by component.
    Beneath,
}

impl PathPolicy {
    /// The spelling that the requirements allow.
    pub const FORGE: PathPolicy = PathPolicy { dots: Dots::Refuse, absolute: Absolute::Refuse };

    /// Absolute paths too, where they lie beneath a root.
    pub const ABSOLUTE: PathPolicy = PathPolicy { dots: Dots::Refuse, absolute: Absolute::Beneath };

    /// Resolve first, then judge where the path leads.
    pub const RESOLVE: PathPolicy = PathPolicy { dots: Dots::Resolve, absolute: Absolute::Beneath };

    /// Normalise the spelling first, then judge where the path leads.
    pub const CLEAN: PathPolicy = PathPolicy { dots: Dots::Clean, absolute: Absolute::Beneath };

    /// The same policy, and absolute paths inside the roots.
    #[must_use]
    pub fn allow_absolute(self) -> Self {
        Self { absolute: Absolute::Beneath, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Name(OsString),
    Up,
}

/// A path that is well formed.
#[derive(Debug, Clone)]
pub(crate) struct Asked<'a> {
    pub(crate) text: &'a str,
    /// The directory below the root in which a relative path begins.
    base: &'a Path,
    /// The rest of the path below the root that it is looked up in.
    pub(crate) below: Cow<'a, Path>,
    pub(crate) absolute: bool,
    /// Spelt with a trailing `/` or `/.`: only a directory will do.
    pub(crate) wants_directory: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn parse(
        text: &'a str,
        base: &'a Path,
        policy: PathPolicy,
    ) -> Result<Self, ToolError> {
        check_text(text)?;
        let below = Path::new(text);
        let absolute = below.is_absolute();
        if absolute && policy.absolute == Absolute::Refuse {
            return Err(ToolError::outside(text).hint(
                "absolute paths are not accepted; use a path relative to the workspace root",
            ));
        }
        for component in below.components() {
            match component {
                Component::ParentDir if policy.dots == Dots::Refuse => {
                    return Err(ToolError::outside(text)
                        .hint("`..` is not accepted; use a path relative to the workspace root"));
                }
                Component::Normal(name) if name.len() > LONGEST_NAME => {
                    return Err(ToolError::bad_args(format!(
                        "path has a name of {} bytes; names have at most {LONGEST_NAME}",
                        name.len()
                    )));
                }
                _ => {}
            }
        }
        let wants_directory = text.ends_with('/') || text.ends_with("/.");
        let base = if absolute { Path::new("") } else { base };
        Ok(Self { text, base, below: Cow::Borrowed(below), absolute, wants_directory })
    }

    pub(crate) fn parts(&self) -> VecDeque<Part> {
        self.base.components().chain(self.below.components()).filter_map(part).collect()
    }

    /// The path without `.` and doubled slashes, when no `..` is in it.
    pub(crate) fn plain(&self) -> Option<PathBuf> {
        let mut path = PathBuf::with_capacity(self.text.len());
        for component in self.base.components().chain(self.below.components()) {
            match component {
                Component::Normal(name) => path.push(name),
                Component::ParentDir => return None,
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Some(path)
    }

    /// The path from the root of the file system, where `root` is the one it is relative to.
    pub(crate) fn from(&self, root: &Path) -> PathBuf {
        root.join(self.base).join(&self.below)
    }

    /// The same path as one that begins at a root, below which it is `below`.
    #[must_use]
    pub(crate) fn at(self, below: PathBuf) -> Self {
        Self { base: Path::new(""), below: Cow::Owned(below), ..self }
    }
}

/// A path without `.`, `..` and doubled slashes, by its spelling alone.
pub(crate) fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // Above the root of the file system there is only itself.
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

/// The components of a link's text, and whether it is absolute.
pub(crate) fn link_parts(target: &OsStr) -> (Vec<Part>, bool) {
    let path = Path::new(target);
    (path.components().filter_map(part).collect(), path.is_absolute())
}

fn part(component: Component<'_>) -> Option<Part> {
    match component {
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::ParentDir => Some(Part::Up),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    }
}

fn check_text(text: &str) -> Result<(), ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::bad_args("path must not be blank"));
    }
    if text.contains('\0') {
        return Err(ToolError::bad_args("path contains a NUL character"));
    }
    if text.len() > LONGEST_PATH {
        return Err(ToolError::bad_args(format!(
            "path has {} bytes; paths have at most {LONGEST_PATH}",
            text.len()
        )));
    }
    Ok(())
}
