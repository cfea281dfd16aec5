//! The directory that a line changes to, told from its words alone.

use super::matching::CommandPlace;
use crate::line::{CommandLine, PartKind};
use crate::word::ShellWord;

/// Commands that only read count as allowed, or need a rule like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// No rule is needed to read.
    Allowed,
    /// Reading needs a rule too.
    NeedRules,
}

/// The facts about a run that a decision depends on.
#[derive(Debug, Clone, Copy)]
pub struct RuleContext<'a> {
    /// The treatment of commands that only read.
    pub readers: Readers,
    /// Absolute paths of the workspace's directories: `cd` to one of them, or below, stays inside.
    pub roots: &'a [&'a str],
}

/// The place in which the parts of a line run: the same for all, because branches and loops may run
/// a `cd` at any time.
pub(crate) fn place_of(line: &CommandLine, context: &RuleContext<'_>) -> CommandPlace {
    let mut place = CommandPlace::Here;
    for part in line.parts() {
        let (PartKind::Runs(command) | PartKind::Covered(command)) = &part.kind else { continue };
        if !command.words.first().is_some_and(|word| word.is("cd")) {
            continue;
        }
        match command.words.get(1).and_then(ShellWord::literal) {
            Some(path) if command.words.len() == 2 && is_inside(path, context.roots) => {
                place = CommandPlace::Inside;
            }
            _ => {
                let why = format!("`{}` may leave the workspace", part.shown());
                return CommandPlace::Elsewhere(why);
            }
        }
    }
    place
}

/// Below a root or below the present directory, by its spelling.
fn is_inside(path: &str, roots: &[&str]) -> bool {
    let has_parent = path.split('/').any(|component| component == "..");
    let below = |root: &&str| {
        let rest = path.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_relative = !path.is_empty() && !path.starts_with(['/', '-', '~']);
    !has_parent && (is_relative || roots.iter().any(below))
}
