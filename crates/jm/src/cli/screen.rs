//! The words of the command line without a command: the screen.

use anyhow::{Result, bail};
use clap::{Args, CommandFactory};
use jm_types::text::suggest;

use super::{Cli, Model};

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of the screen")]
pub(crate) struct Screen {
    /// First prompt of a new conversation
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) model: Model,
    /// Whole lines only: no cursor movement, no spinner (for screen readers and dumb terminals)
    #[arg(long)]
    pub(crate) plain: bool,
    /// Continue the newest conversation of this workspace
    #[arg(long = "continue", short = 'c')]
    pub(crate) continues: bool,
}

impl Screen {
    /// One word is more likely a slip than a task.
    pub(crate) fn refuse_slips(&self) -> Result<()> {
        let Some(word) = self.prompt.as_deref().filter(|prompt| is_one_word(prompt)) else {
            return Ok(());
        };
        let command = Cli::command();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let near = suggest(word, names, 1);
        let near =
            near.first().map(|near| format!("did you mean `jm {near}`? ")).unwrap_or_default();
        bail!(
            "no such command: {word}\n  hint: {near}As a prompt: `jm run {word}`; `jm --help` lists the commands"
        )
    }

    /// Flags of the screen before a command would be silently without effect.
    pub(crate) fn refuse_beside_a_command(&self) -> Result<()> {
        if self.prompt.is_some() || self.plain || self.continues || self.model.model.is_some() {
            bail!(
                "options of the screen cannot precede a command\n  hint: put `--model` after the command"
            );
        }
        Ok(())
    }
}

fn is_one_word(prompt: &str) -> bool {
    let prompt = prompt.trim();
    !prompt.is_empty() && !prompt.contains(char::is_whitespace)
}
