//! The words of the commands that work on the journal: `jm undo`, `jm redo`, `jm rewind`, `jm gc`, `jm output`.

use clap::Args;
use jm_types::CallKey;

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// How many prompts, the newest first; each with all its calls
    #[arg(default_value_t = 1, conflicts_with_all = ["call", "to"])]
    pub(crate) count: usize,
    /// Only this call (ids: `jm log`)
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<CallKey>,
    /// This call and all later ones of its session
    #[arg(long, value_name = "ID", conflicts_with = "call")]
    pub(crate) to: Option<CallKey>,
    #[command(flatten)]
    pub(crate) how: Redo,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Redo {
    /// Overwrite files that changed since
    #[arg(long)]
    pub(crate) force: bool,
    /// Continue although the journal is damaged (`jm verify`)
    #[arg(long)]
    pub(crate) despite_damage: bool,
    /// Show what would change, with the diff, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON object a step
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Only those whose title, id or model contains this
    pub(crate) search: Option<String>,
    /// Those of all projects
    #[arg(long)]
    pub(crate) all: bool,
    /// Also those without a conversation, such as single calls
    #[arg(long)]
    pub(crate) calls: bool,
    /// Print JSON, for programs: all sessions of all projects
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rewind {
    /// Number of the prompt to go back to [default: list the prompts]
    pub(crate) prompt: Option<usize>,
    /// Restore files only
    #[arg(long, conflicts_with = "conversation", requires = "prompt")]
    pub(crate) files: bool,
    /// Fork the conversation only
    #[arg(long, requires = "prompt")]
    pub(crate) conversation: bool,
    #[command(flatten)]
    pub(crate) how: Redo,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Rewrite the journal without its free space; no session may run meanwhile
    #[arg(long)]
    pub(crate) compact: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Call (ids: `jm log`)
    pub(crate) call: CallKey,
    /// Only bytes A up to, not including, B, from 0; either may be omitted
    #[arg(long, value_name = "A:B", conflicts_with = "lines")]
    pub(crate) range: Option<Span>,
    /// Only lines A to B, from 1; either may be omitted
    #[arg(long, value_name = "A:B")]
    pub(crate) lines: Option<Span>,
    /// Print standard error instead
    #[arg(long)]
    pub(crate) stderr: bool,
}

/// `A:B`, `A:` or `:B`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once(':').ok_or("expected two numbers, such as 10:20")?;
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| format!("`{text}` is not a number")),
        };
        Ok(Self { first: number(first)?, last: number(last)? })
    }
}
