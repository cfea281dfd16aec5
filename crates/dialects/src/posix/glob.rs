//! Glob as POSIX has it: no `**`, no braces, dots only where asked for (IK-GLOB).
//!
//! Law: every directory is opened through the sandbox, so a pattern reaches nothing that a path
//! could not.

use jm_files::{EntryKind, Found, OpenDirectory, Sandbox};
use jm_tools::operation::{Execution, Operation};
use jm_tools::{Foreseen, PathUse, Scope, Use};
use jm_types::{ErrorKind, ToolError};

use super::name::{NamePattern, is_magic, unescaped};

/// More names than these are not gathered.
const MOST_NAMES: usize = 1_000_000;

/// A search for names as glob(3) does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PosixGlob {
    /// A directory to begin in; the current one when empty.
    pub path: String,
    /// The pattern, which may have slashes.
    pub pattern: String,
}

impl PosixGlob {
    /// The pattern as a whole, `path/pattern`.
    pub fn full(&self) -> String {
        if self.path.is_empty() {
            return self.pattern.clone();
        }
        format!("{}/{}", self.path, self.pattern)
    }

    /// The directory that every match lies beneath, as far as it is known before anything is looked up:
    /// a `..` behind a name depends on what the name is.
    pub fn base(&self) -> String {
        let full = self.full();
        let mut has_name = false;
        let plain_ones = components(&full).take_while(|(component, _)| {
            let is_up = *component == ".." && has_name;
            has_name |= !matches!(*component, "" | "." | "..");
            !is_magic(component) && !is_up
        });
        let base: String = plain_ones
            .map(|(component, slash)| format!("{}{slash}", unescaped(component)))
            .collect();
        if base.is_empty() { ".".to_owned() } else { base }
    }

    /// The paths, ascending by bytes.
    pub fn run(&self, scope: &Scope) -> Result<Vec<String>, ToolError> {
        let full = self.full();
        let sandbox = &scope.workspace.sandbox;
        if full.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = vec![String::new()];
        let mut components = components(&full).peekable();
        let mut is_first_search = true;
        while let Some((component, slash)) = components.next() {
            let is_last = components.peek().is_none();
            let is_bare = is_last && is_magic(component);
            let slash = if is_bare { &slash[..slash.len().min(1)] } else { slash };
            let mut next = Vec::new();
            for base in &found {
                scope.cancel.checkpoint()?;
                if !is_magic(component) {
                    next.push(format!("{base}{}{slash}", unescaped(component)));
                    continue;
                }
                let names = match (names(sandbox, base), is_first_search) {
                    (Ok(names), _) => names,
                    // The directory that was named must be readable; deeper ones are passed over.
                    (Err(error), true) => return unread(sandbox, base, error),
                    (Err(_), false) => continue,
                };
                let pattern = NamePattern::new(component);
                let matching = names.iter().filter(|name| pattern.matches(name));
                next.extend(matching.map(|name| format!("{base}{name}{slash}")));
                if next.len() > MOST_NAMES {
                    return Err(too_many());
                }
            }
            is_first_search &= !is_magic(component);
            // Names that were just read exist; all others, and what must be a directory, may not.
            let is_sure = is_magic(component) && slash.is_empty();
            if (is_last || is_magic(component)) && !is_sure {
                next.retain(|path| exists(sandbox, path));
            }
            found = next;
        }
        found.sort_unstable();
        Ok(found)
    }
}

impl Operation for PosixGlob {
    type Outcome = Vec<String>;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(self.base(), Use::List)]
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<Vec<String>, ToolError> {
        self.run(execution.scope)
    }
}

/// A directory that is not there has no names; one that may not be seen is an error.
fn unread(sandbox: &Sandbox, base: &str, error: ToolError) -> Result<Vec<String>, ToolError> {
    match &error.kind {
        ErrorKind::NotFound { .. } | ErrorKind::NotRegular { .. } => Ok(Vec::new()),
        ErrorKind::Io { .. } if leads_through_a_file(sandbox, base) => Ok(Vec::new()),
        _ => Err(error),
    }
}

/// Tells whether a path leads to or through something that is there and is no directory.
fn leads_through_a_file(sandbox: &Sandbox, base: &str) -> bool {
    let ends = base.match_indices('/').map(|(at, _)| at).chain([base.len()]);
    let prefixes = ends.map(|end| &base[..end]).filter(|prefix| !prefix.is_empty());
    let is_file = |found: Found| matches!(found, Found::File | Found::Special(_));
    prefixes
        .into_iter()
        .any(|prefix| sandbox.resolve(prefix).is_ok_and(|path| is_file(path.found())))
}

fn too_many() -> ToolError {
    let message = format!("the pattern matches more than {MOST_NAMES} names");
    ToolError::new(ErrorKind::TooMuch { message })
}

/// The components with the slashes that follow them; an absolute pattern begins with an empty one.
fn components(pattern: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find('/').unwrap_or(rest.len());
        let slashes = rest[end..].len() - rest[end..].trim_start_matches('/').len();
        let component = (&rest[..end], &rest[end..end + slashes]);
        rest = &rest[end + slashes..];
        Some(component)
    })
}

/// The names in a directory, with `.` and `..`, which a pattern may ask for.
fn names(sandbox: &Sandbox, base: &str) -> Result<Vec<String>, ToolError> {
    let path = sandbox.resolve(if base.is_empty() { "." } else { base })?;
    let directory = OpenDirectory::open(&path)?;
    let names = directory.names().map_err(|(_, why)| ToolError::io(base, why))?;
    // A name that is not UTF-8 is shown as well as it can be; nothing leads through it.
    let text = names.into_iter().map(|name| name.to_string_lossy().into_owned());
    Ok([".".to_owned(), "..".to_owned()].into_iter().chain(text).collect())
}

/// Tells whether something has this name, be it a link that leads nowhere; a name with a slash behind it
/// must lead to a directory.
fn exists(sandbox: &Sandbox, path: &str) -> bool {
    if path.ends_with('/') {
        return sandbox.resolve(path).is_ok_and(|path| path.found() == Found::Directory);
    }
    let (parent, name) = match path.rsplit_once('/') {
        Some((parent, name)) => (&path[..parent.len() + 1], name),
        None => (".", path),
    };
    if matches!(name, "." | "..") {
        return sandbox.resolve(path).is_ok_and(|path| path.found() == Found::Directory);
    }
    let Ok(parent) = sandbox.resolve(parent) else { return false };
    let Ok(directory) = OpenDirectory::open(&parent) else { return false };
    let entry = directory.entry(sandbox, name.into());
    entry.kind != EntryKind::Unknown
}
