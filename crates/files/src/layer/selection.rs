//! Names of a layer that a person chose to keep, with all that belongs to them.
//!
//! Law: what is chosen stands on its own. The directories that a name needs come with it; both names of a rename, all
//! names of one file and all files of one repository go together; a directory that was deleted or replaced goes whole.
//! A name that makes something run later never comes along: it is kept where a person named it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use jm_types::text::one_line;
use rustix::fd::OwnedFd;
use rustix::fs;
use rustix::io;
use thiserror::Error;

use super::Layer;
use super::node::{NodeFacts, NodeKind};
use super::place::parent_of;
use super::plan::LayerConflict;
use super::report::{LayerReport, MOST_NAMED, change_of, read_file};
use super::step::{LayerStep, LayerWork};

/// The files that are read to tell a rename: larger ones are told by size, mode and time.
const MOST_COMPARED: u64 = 4 * 1024 * 1024;
/// Names that a message lists.
const MOST_LISTED: usize = 5;
const REPOSITORY: &str = ".git";

/// Why a choice of names cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum SelectionError {
    #[error("no file was named")]
    Empty,
    #[error("{name}: not among the changes")]
    Unknown { name: String },
    #[error("{name} cannot be kept alone: {whole} was {how} as a whole")]
    NotAlone { name: String, whole: String, how: &'static str },
    #[error("{name} cannot be kept alone: {brought}")]
    BringsLater { name: String, brought: String },
    #[error("too many files changed to keep some of them")]
    TooMany,
    #[error("it cannot be read: {0}")]
    Unreadable(io::Errno),
}

/// The chosen names of a layer, and the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    chosen: BTreeSet<PathBuf>,
    left: BTreeSet<PathBuf>,
}

/// The share of a name, with what is in it, that is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    None,
    Some,
    All,
}

impl Selection {
    /// The chosen names, relative to the root.
    pub fn chosen(&self) -> &BTreeSet<PathBuf> {
        &self.chosen
    }

    /// The names that are not chosen.
    pub fn left(&self) -> &BTreeSet<PathBuf> {
        &self.left
    }

    /// Tells whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn share(&self, path: &Path) -> Share {
        match (has_beneath(&self.chosen, path), has_beneath(&self.left, path)) {
            (false, _) => Share::None,
            (true, true) => Share::Some,
            (true, false) => Share::All,
        }
    }
}

fn has_beneath(names: &BTreeSet<PathBuf>, path: &Path) -> bool {
    beneath(names, path).next().is_some()
}

/// The name itself and the names inside it: paths are in the order of their components.
fn beneath<'a>(
    names: &'a BTreeSet<PathBuf>,
    path: &'a Path,
) -> impl Iterator<Item = &'a PathBuf> + 'a {
    let from = names.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
    from.take_while(move |name| name.starts_with(path))
}

impl LayerReport {
    /// Chooses names of a layer, as they are shown: files, or directories with all that changed in them.
    pub fn select(&self, layer: &Layer, wanted: &[String]) -> Result<Selection, SelectionError> {
        if wanted.is_empty() {
            return Err(SelectionError::Empty);
        }
        if self.touched.len() >= MOST_NAMED {
            return Err(SelectionError::TooMany);
        }
        let bonds = Bonds::of(self, layer).map_err(SelectionError::Unreadable)?;
        let mut named = BTreeSet::new();
        for name in wanted {
            named.extend(bonds.named(name)?);
        }
        let chosen = bonds.with_company(named.iter().cloned().collect());
        bonds.check_company(wanted, &named, &chosen)?;
        let left = bonds.names.difference(&chosen).cloned().collect();
        Ok(Selection { chosen, left })
    }

    /// The conflicts of the chosen names.
    pub fn conflicts_in(&self, selection: &Selection) -> Vec<LayerConflict> {
        let is_chosen = |one: &&LayerConflict| selection.share(&one.path) != Share::None;
        self.plan.conflicts.iter().filter(is_chosen).cloned().collect()
    }
}

/// The names that a layer changes, and what ties them together.
struct Bonds<'a> {
    report: &'a LayerReport,
    names: BTreeSet<PathBuf>,
    /// Directories that go whole, and what became of them.
    wholes: BTreeMap<&'a Path, &'static str>,
    /// Names that go together with a name.
    company: BTreeMap<PathBuf, Vec<PathBuf>>,
}

impl<'a> Bonds<'a> {
    fn of(report: &'a LayerReport, layer: &Layer) -> io::Result<Self> {
        let steps = || report.plan.steps.iter();
        let shown = steps().filter(|step| change_of(step).is_some()).map(|step| step.path.clone());
        let names = report.touched.keys().cloned().chain(shown).collect();
        let wholes = steps().filter_map(|step| Some((step.path.as_path(), whole(step)?))).collect();
        let mut bonds = Self { report, names, wholes, company: BTreeMap::new() };
        bonds.tie_links(layer)?;
        bonds.tie_renames(layer)?;
        Ok(bonds)
    }

    fn tie(&mut self, one: &Path, other: &Path) {
        for (one, other) in [(one, other), (other, one)] {
            self.company.entry(one.to_owned()).or_default().push(other.to_owned());
        }
    }

    /// Ties the names of one file.
    fn tie_links(&mut self, layer: &Layer) -> io::Result<()> {
        let mut files: BTreeMap<u64, PathBuf> = BTreeMap::new();
        for path in self.names.clone() {
            let Some(facts) = facts_in(&layer.upper, &path)? else { continue };
            if facts.kind != NodeKind::File || facts.names < 2 {
                continue;
            }
            match files.get(&facts.inode).cloned() {
                Some(first) => self.tie(&first, &path),
                None => {
                    files.insert(facts.inode, path);
                }
            }
        }
        Ok(())
    }

    /// Ties the two names of a file or link that was renamed: the one is gone, the other is new, and what stands there
    /// is the same with the same time.
    fn tie_renames(&mut self, layer: &Layer) -> io::Result<()> {
        let is_moved = |kind| matches!(kind, NodeKind::File | NodeKind::Link);
        let mut gone: BTreeMap<MoveKey, Vec<PathBuf>> = BTreeMap::new();
        for (path, kinds) in &self.report.touched {
            if kinds.after.is_none() && kinds.before.is_some_and(is_moved) {
                let Some(facts) = layer.beneath(path)? else { continue };
                gone.entry(move_key(&facts)).or_default().push(path.clone());
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        let mut ties = Vec::new();
        for (path, kinds) in &self.report.touched {
            if kinds.before.is_some() || !kinds.after.is_some_and(is_moved) {
                continue;
            }
            let Some(facts) = facts_in(&layer.upper, path)? else { continue };
            let old = gone.get(&move_key(&facts)).map(Vec::as_slice).unwrap_or_default();
            let same_name = |other: &&PathBuf| other.file_name() == path.file_name();
            let is_namesake = old.iter().any(|other| same_name(&other));
            for other in old.iter().filter(|other| !is_namesake || same_name(other)) {
                if is_same_node(layer, (other, path), &facts)? {
                    ties.push((other.clone(), path.clone()));
                }
            }
        }
        ties.iter().for_each(|(old, new)| self.tie(old, new));
        Ok(())
    }

    /// The names that a person's word means.
    fn named(&self, word: &str) -> Result<Vec<PathBuf>, SelectionError> {
        let name = word.trim_start_matches("./").trim_end_matches('/');
        let name = if name == "." { "" } else { name };
        let is_in = |path: &str| {
            let inside = path.strip_prefix(name);
            name.is_empty() || inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // As it is, or as it is shown.
        let is_meant = |path: &&PathBuf| {
            let path = path.to_string_lossy();
            is_in(&path) || is_in(&one_line(&path))
        };
        let found: Vec<PathBuf> = self.names.iter().filter(is_meant).cloned().collect();
        if found.is_empty() {
            return Err(SelectionError::Unknown { name: word.to_owned() });
        }
        for path in &found {
            let Some((whole, Some(how))) = self.whole_of(path) else { continue };
            let whole = whole.to_string_lossy();
            if whole.len() < name.len() {
                let (name, whole) = (word.to_owned(), whole.into_owned());
                return Err(SelectionError::NotAlone { name, whole, how });
            }
        }
        Ok(found)
    }

    /// The outermost thing around a name that goes whole: a directory and what became of it, or a repository.
    fn whole_of<'b>(&self, path: &'b Path) -> Option<(&'b Path, Option<&'static str>)> {
        let mut outer: Vec<&Path> = path.ancestors().collect();
        outer.reverse();
        outer.into_iter().find_map(|place| {
            let is_repository = place.file_name() == Some(OsStr::new(REPOSITORY));
            let how = self.wholes.get(place).copied();
            (how.is_some() || is_repository).then_some((place, how))
        })
    }

    /// The names with all that belongs to them.
    fn with_company(&self, mut waiting: Vec<PathBuf>) -> BTreeSet<PathBuf> {
        let mut chosen = BTreeSet::new();
        let mut whole: BTreeSet<PathBuf> = BTreeSet::new();
        while let Some(path) = waiting.pop() {
            if chosen.contains(&path) {
                continue;
            }
            if let Some((place, _)) = self.whole_of(&path)
                && whole.insert(place.to_owned())
            {
                waiting.extend(beneath(&self.names, place).cloned());
            }
            waiting.extend(self.company.get(&path).into_iter().flatten().cloned());
            let around = path.ancestors().skip(1).filter(|place| self.is_made(place));
            waiting.extend(around.map(Path::to_owned));
            chosen.insert(path);
        }
        chosen
    }

    /// Tells whether a name is a directory that the command made.
    fn is_made(&self, place: &Path) -> bool {
        let kinds = self.report.touched.get(place);
        kinds
            .is_some_and(|kinds| kinds.before.is_none() && kinds.after == Some(NodeKind::Directory))
    }

    /// Refuses a choice that would bring names along which make something run later.
    fn check_company(
        &self,
        wanted: &[String],
        named: &BTreeSet<PathBuf>,
        chosen: &BTreeSet<PathBuf>,
    ) -> Result<(), SelectionError> {
        let brought = self.brought_later(named, chosen);
        if brought.is_empty() {
            return Ok(());
        }
        for name in wanted {
            let brought = self.brought_later(named, &self.with_company(self.named(name)?));
            if !brought.is_empty() {
                let (name, brought) = (name.clone(), in_words(&brought));
                return Err(SelectionError::BringsLater { name, brought });
            }
        }
        Ok(())
    }

    /// The names that make something run later among the company of the named ones, and why. A new directory around
    /// a named file is part of its name.
    fn brought_later(
        &self,
        named: &BTreeSet<PathBuf>,
        chosen: &BTreeSet<PathBuf>,
    ) -> BTreeMap<&'a Path, &'static str> {
        let is_around = |path: &Path| self.is_made(path) && has_beneath(named, path);
        let company = chosen.difference(named).filter(|path| !is_around(path));
        let told = company.filter_map(|path| self.report.told_as.get(path));
        let why = |part: &'a PathBuf| Some((part.as_path(), *self.report.runs_later.get(part)?));
        told.filter_map(why).collect()
    }
}

/// The names that would come along, the first of many, and the remedy.
fn in_words(brought: &BTreeMap<&Path, &'static str>) -> String {
    let line = |(path, why): (&&Path, &&str)| {
        format!("{} would be kept with it ({why})", one_line(&path.to_string_lossy()))
    };
    let listed: Vec<String> = brought.iter().take(MOST_LISTED).map(line).collect();
    let listed = listed.join(", ");
    match brought.len() {
        1 => format!("{listed}; name it too to keep both"),
        few if few <= MOST_LISTED => format!("{listed}; name them too to keep all"),
        many => format!("{listed} and {} more; name them too to keep all", many - MOST_LISTED),
    }
}

/// The fate of a directory that goes whole.
fn whole(step: &LayerStep) -> Option<&'static str> {
    let is_directory = |facts: &Option<NodeFacts>| {
        facts.as_ref().is_some_and(|facts| facts.kind == NodeKind::Directory)
    };
    match step.work {
        LayerWork::Delete if is_directory(&step.before) => Some("deleted"),
        LayerWork::Replace if is_directory(&step.before) || is_directory(&step.after) => {
            Some("replaced")
        }
        LayerWork::Delete | LayerWork::Replace | LayerWork::Create | LayerWork::Attributes => None,
    }
}

type MoveKey = (bool, u64, u32, i64, i64);

/// The facts that a rename leaves as they are.
fn move_key(facts: &NodeFacts) -> MoveKey {
    let time = facts.modified;
    let is_link = facts.kind == NodeKind::Link;
    (is_link, facts.size, facts.mode, time.seconds, time.nanoseconds)
}

fn facts_in(root: &OwnedFd, path: &Path) -> io::Result<Option<NodeFacts>> {
    let Some(name) = path.file_name() else { return Ok(None) };
    match parent_of(root, path) {
        Ok(parent) => NodeFacts::at(parent, name),
        Err(io::Errno::NOENT | io::Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says if a node of the workspace and one of the layer hold the same.
fn is_same_node(layer: &Layer, (old, new): (&Path, &Path), facts: &NodeFacts) -> io::Result<bool> {
    if facts.kind == NodeKind::Link {
        let target = |root: &OwnedFd, path: &Path| {
            let name = path.file_name().unwrap_or_default();
            fs::readlinkat(parent_of(root, path)?, name, Vec::new())
        };
        return Ok(target(&layer.lower, old)? == target(&layer.upper, new)?);
    }
    if facts.size > MOST_COMPARED {
        return Ok(true);
    }
    let before = read_file(&layer.lower, old, MOST_COMPARED)?;
    Ok(before.is_some() && before == read_file(&layer.upper, new, MOST_COMPARED)?)
}
