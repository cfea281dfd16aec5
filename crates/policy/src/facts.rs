//! The facts of one call that decide whether it may run.
//!
//! Law: they come from the prepared call and the sandbox, never from what the model says about itself.

use jm_shell::CommandLine;
use jm_types::{RiskLevel, ToolEffect};

/// Tools that do what another does: a denial of that one means these too.
pub(crate) const ALIKE: &[(&str, &str)] = &[("start_process", "run_command")];

/// The demand of the call itself, whatever lists, rules and modes say; ordered, the stricter is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Floor {
    /// No demand: lists, rules and the mode decide.
    None,
    /// The tool wants every call confirmed. A rule that the person wrote, or an answer that the person
    /// gave before, is that confirmation, unless the policy is strict.
    Confirmation,
    /// Protected files, or a command that cannot be confined: only an answer to this very call counts.
    Person,
}

/// The origin of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolOrigin {
    /// Ours, or the person's own.
    #[default]
    Person,
    /// The project's.
    Project,
}

/// A file that a call touches, as a path relative to the workspace root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedPath {
    /// Relative to the workspace root, or absolute in another root.
    pub path: String,
    /// True for a change, false for a look.
    pub is_written: bool,
}

/// Everything that is judged about a call.
#[derive(Debug, Clone)]
pub struct CallFacts<'a> {
    /// The call's own id; empty where it has none yet.
    pub id: &'a str,
    /// The name that the call uses.
    pub tool: &'a str,
    /// The arguments as JSON.
    pub arguments: &'a str,
    /// The tool whose rules govern the call, where it does what another tool is for.
    pub governing: &'a str,
    /// The most that this call does to the world.
    pub effect: ToolEffect,
    /// The risk level shown with the question.
    pub risk: RiskLevel,
    /// The least that has to happen before it runs.
    pub floor: Floor,
    /// The party that brought the tool.
    pub origin: ToolOrigin,
    /// The files that the call names, resolved by the sandbox.
    pub paths: Vec<TouchedPath>,
    /// The command that would run, parsed.
    pub command: Option<&'a CommandLine>,
    /// The tool's name with a hash of what defines it.
    pub pinned: Option<&'a str>,
    /// Ports that it would publish on this machine without the person's leave.
    pub publishes: &'a [u16],
    /// A command of which nothing counts before it is kept, and which reaches nothing but the workspace.
    pub is_held: bool,
}

impl<'a> CallFacts<'a> {
    /// Tells if a rule of this tool that asks or denies means the call: it does what the tool does.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        let alike = ALIKE.iter().any(|(one, other)| *one == self.tool && *other == tool);
        alike || self.tool == tool || self.governing == tool
    }

    /// A call of a tool that touches no files and demands nothing.
    pub fn of_tool(tool: &'a str, effect: ToolEffect) -> Self {
        let risk = if effect.is_side_effecting() { RiskLevel::Medium } else { RiskLevel::Low };
        let (floor, origin) = (Floor::None, ToolOrigin::Person);
        let (id, arguments, paths) = ("", "{}", Vec::new());
        let (governing, command, pinned) = (tool, None, None);
        let (publishes, is_held) = (&[][..], false);
        Self {
            id,
            tool,
            arguments,
            governing,
            effect,
            risk,
            floor,
            origin,
            paths,
            command,
            pinned,
            publishes,
            is_held,
        }
    }
}
