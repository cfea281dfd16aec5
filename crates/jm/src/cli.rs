//! The words of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jm_types::SessionId;

mod acp;
mod chat;
mod help;
mod journal;
mod mcp;
mod model;
mod policy;
mod screen;
mod usage_error;

pub(crate) use acp::Acp;
pub(crate) use chat::Chat;
pub(crate) use help::{HelpArgs, ManArgs, OVERVIEW, command, find as find_command, parse};
pub(crate) use journal::{Gc, OutputArgs, Redo, Rewind, SessionsArgs, Span, Undo};
pub(crate) use mcp::{Mcp, McpAdd, McpCommand, McpServe};
pub(crate) use model::{Model, ModelsArgs, RunArgs, ThinkingLevel, ToolProtocol};
pub(crate) use policy::{Policy, PolicyCommand, PolicyTest};
pub(crate) use screen::Screen;

/// A coding agent whose every tool call is validated, approved, confined and undoable.
#[derive(Debug, Parser)]
#[command(name = "jm", version, disable_help_subcommand = true, max_term_width = 80)]
pub(crate) struct Cli {
    #[command(flatten, next_help_heading = "Global options")]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) screen: Screen,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Directory the tools work in (repeatable; the first is the working directory) [default: .]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// Dialect of tools: standard, forge, forj, ikigai, gemini or flemma
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) toolset: Option<String>,
    /// Loop limits: careful or standard
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Approval mode for calls that no rule covers: auto runs them, prompt asks before side effects,
    /// deny refuses them
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) approve: Option<Approve>,
    /// Answer every question with yes; denied tools and paths stay denied
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Allow a tool, or calls of it by a rule: 'run_command: cargo test *' (repeatable); enables
    /// run_command, which is denied by default
    #[arg(long, global = true, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny a tool, or calls of it by a rule (repeatable); a denial always wins
    #[arg(long, global = true, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Continue this session: its reads still count, and its calls form one history
    /// [env: JM_SESSION]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Record nothing; such calls cannot be undone
    #[arg(long, global = true)]
    pub(crate) no_journal: bool,
    /// Resolve calls that a crash interrupted without asking
    #[arg(long, global = true, value_name = "CHOICE")]
    pub(crate) on_recovery: Option<OnRecovery>,
    /// Write calls, verdicts and results as JSON lines to standard error
    #[arg(long, global = true)]
    pub(crate) debug: bool,
    /// Let commands use the network, or with =HOST this host only (repeatable)
    #[arg(
        long,
        global = true,
        value_name = "HOST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on"
    )]
    pub(crate) network: Vec<String>,
    /// Let commands write this directory besides the roots (repeatable)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// Publish a port of background processes at 127.0.0.1 of this machine, without asking (repeatable)
    #[arg(long, global = true, value_name = "PORT", value_parser = published_port)]
    pub(crate) publish: Vec<u16>,
    /// Read this file instead of the user's configuration [env: JM_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Of the faces that have a model.
    #[arg(skip)]
    pub(crate) max_iterations: Option<usize>,
    /// The `.chat` document that is being run, which no tool may write.
    #[arg(skip)]
    pub(crate) document: Option<PathBuf>,
    /// The program that answers questions instead of the user.
    #[arg(skip)]
    pub(crate) answered_by: Option<&'static str>,
    /// The buffers of the editor that asks.
    #[arg(skip)]
    pub(crate) buffers: jm_files::EditorBuffers,
    /// Servers of tools that an editor names.
    #[arg(skip)]
    pub(crate) servers: jm_config::Servers,
    /// Tools whose denial by default does not hold: they are asked about instead.
    #[arg(skip)]
    pub(crate) asked: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Approve {
    Auto,
    /// Run commands on a layer first, and ask what to keep of their changes
    Effects,
    Prompt,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnRecovery {
    /// Keep the results; complete a partial change
    Keep,
    /// Mark the results as failed; undo a partial change
    Discard,
    /// Undo everything the batch changed
    Undo,
    /// Change nothing, and fail
    Fail,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give the model a task and let it work, without a terminal
    Run(RunArgs),
    /// Talk with the model in a plain terminal
    Repl(Repl),
    /// Continue a conversation
    Resume(Resume),
    /// Continue a `.chat` document: run its tools, send it to the model
    Chat(Chat),
    /// Take the tour: a throw-away project, a scripted model, a crash and its recovery, an undo
    Demo,
    /// Make one tool call, without a model
    Call(CallArgs),
    /// Run the tool calls found on standard input, without a model
    Exec(Exec),
    /// List the conversations of this project
    Sessions(SessionsArgs),
    /// Show what a session did, why it was allowed and what it changed
    Log(Log),
    /// Undo the changes of the last prompt, or of calls
    Undo(Undo),
    /// Redo what was undone last
    Redo(Redo),
    /// List prompts, or go back to before one: files, conversation or both
    Rewind(Rewind),
    /// Resolve calls interrupted by a crash (never re-runs them)
    ///
    /// Shows what each call did and asks. Without a question: `--on-recovery keep` (complete what was begun), `discard`
    /// (mark the results as failed) or `undo` (take the changes back).
    Recover(ListingArgs),
    /// Verify the journal's integrity
    Verify,
    /// Print the full output of a call
    Output(OutputArgs),
    /// Print a session as JSON lines or as one HTML page
    Export(ExportArgs),
    /// Remove unused stored contents, and the oldest beyond journal.quota_bytes
    Gc(Gc),
    /// Show the disk usage of the journal
    Du(ListingArgs),
    /// List background processes of sessions, or stop, read or publish one
    Ps(Ps),
    /// Run a command in the sandbox that commands of tools get
    Sandbox(SandboxArgs),
    /// List, show, keep or drop held changes of `jm sandbox --hold`
    Held(Held),
    /// Check the sandbox and the environment
    Doctor(ListingArgs),
    /// List known models with context and price
    Models(ModelsArgs),
    /// Write a first AGENTS.md for this project
    Init,
    /// List the tools, or show one with its schema
    Tools(ToolsArgs),
    /// Serve an editor that speaks the Agent Client Protocol, over standard input and output
    Acp(Acp),
    /// Manage MCP servers, or serve the tools of jm to another agent
    Mcp(Mcp),
    /// Show the configuration in force and where each value comes from
    Config(ConfigArgs),
    /// List API keys and where they come from, or save them in the keyring
    Keys(Keys),
    /// Trust this project: its configuration may loosen the policy, its tools may run
    Trust(TrustArgs),
    /// List approval rules, explain a decision, revoke a remembered approval
    Policy(Policy),
    /// Install the ikigai tools as programs in DIR/libexec/journeyman
    InstallPrograms(InstallPrograms),
    /// Print a completion script
    Completions {
        /// Shell to generate completions for
        shell: Shell,
    },
    /// Print a manual page
    Man(ManArgs),
    /// Show help on a command or a topic
    Help(HelpArgs),
}

#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) command: Option<KeysCommand>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Show the source of each key (default)
    List(ListingArgs),
    /// Save a key in the keyring, from standard input or typed unseen
    Set {
        /// Provider: anthropic, openai, gemini, vertex, openrouter or a name from models.toml
        provider: String,
    },
    /// Remove a key from the keyring
    Remove {
        /// Provider of the key
        provider: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Repl {
    #[command(flatten)]
    pub(crate) model: Model,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Session: id or prefix, title, or @last [default: the newest conversation]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) model: Model,
    /// Whole lines only: no cursor movement, no spinner
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool
    pub(crate) tool: String,
    /// Arguments as a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}")]
    pub(crate) args: String,
    /// Print one JSON object with verdict, content and more
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what would happen, with the diff, and do nothing
    #[arg(long)]
    pub(crate) preview: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// One JSON call, or one batch, on each line; one JSON answer for each
    #[arg(long)]
    pub(crate) jsonl: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListingArgs {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Session [default: the newest of this workspace]
    pub(crate) id: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the changes of files too
    #[arg(long)]
    pub(crate) diff: bool,
    /// Wait for more, like tail -f, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Also show version, toolset and mode, and all lines of thinking
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Session [default: the newest of this workspace]
    pub(crate) id: Option<String>,
    /// One self-contained page instead of JSON lines
    #[arg(long)]
    pub(crate) html: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Print JSON, for programs
    #[arg(long, conflicts_with_all = ["stop", "output", "screen"])]
    pub(crate) json: bool,
    /// Also those that have ended
    #[arg(long, conflicts_with_all = ["stop", "output", "screen"])]
    pub(crate) all: bool,
    /// Process to publish ports of, with --publish PORT
    #[arg(requires = "publish", conflicts_with_all = ["json", "all", "stop", "output", "screen"])]
    pub(crate) id: Option<String>,
    /// Stop this process and its children
    #[arg(long, value_name = "ID", conflicts_with_all = ["output", "screen"])]
    pub(crate) stop: Option<String>,
    /// Print the output of this process
    #[arg(long, value_name = "ID", conflicts_with = "screen")]
    pub(crate) output: Option<String>,
    /// Only bytes A up to, not including, B of the output; either may be omitted
    #[arg(long, value_name = "A:B", requires = "output")]
    pub(crate) range: Option<Span>,
    /// Print the terminal screen of this process
    #[arg(long, value_name = "ID")]
    pub(crate) screen: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// Sandbox back end: auto, namespaces, bwrap, landlock or none [default: as configured]
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,
    /// Time limit in seconds [default: as configured]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// Show what it may read and write, and run nothing
    #[arg(long)]
    pub(crate) show: bool,
    /// Make it read-only, like a command that runs unasked
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Hold its changes to the workspace until you keep them: asks afterwards; if not interactive,
    /// sets them aside (exit code 3; `jm held`)
    #[arg(long, conflicts_with_all = ["show", "read_only"])]
    pub(crate) hold: bool,
    /// With --hold: keep the changes without asking
    #[arg(long, requires = "hold", conflicts_with = "drop")]
    pub(crate) keep: bool,
    /// With --hold: show the changes and drop them
    #[arg(long, requires = "hold")]
    pub(crate) drop: bool,
    /// The command and its arguments; it reads what is piped in, and never the terminal
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Held {
    #[command(subcommand)]
    pub(crate) command: Option<HeldCommand>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HeldCommand {
    /// List what is held (default)
    List(ListingArgs),
    /// Show the changes as a diff
    Diff {
        /// Id from `jm held list` [default: the only one of this workspace]
        id: Option<String>,
    },
    /// Apply the changes to the workspace; `jm undo` reverts them
    Keep {
        /// Id from `jm held list` [default: the only one of this workspace]
        id: Option<String>,
        /// Keep these files or directories only; the others stay held
        paths: Vec<String>,
    },
    /// Discard the changes
    Drop {
        /// Id from `jm held list` [default: the only one of this workspace]
        id: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Name of a tool; all of them without it
    pub(crate) name: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask every external tool for its schema again
    #[arg(long)]
    pub(crate) rescan: bool,
    /// Describe the tools of every toolset instead, as Markdown
    #[arg(long, conflicts_with_all = ["name", "json", "rescan"])]
    pub(crate) reference: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Only this key, or the keys below it
    #[arg(conflicts_with_all = ["json", "reference"])]
    pub(crate) key: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Describe every key instead
    #[arg(long, conflicts_with = "json")]
    pub(crate) reference: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InstallPrograms {
    /// Prefix of the installation, such as /usr/local
    #[arg(value_name = "DIR")]
    pub(crate) prefix: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A `.chat` document, whose front matter may then approve calls; else the project
    pub(crate) document: Option<PathBuf>,
    /// Revoke the trust
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Only show whether the project is trusted
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) show: bool,
}

/// A port that can be published.
fn published_port(text: &str) -> Result<u16, &'static str> {
    let port = text.parse().ok().filter(|port| *port >= 1024);
    port.ok_or("use a port from 1024 to 65535")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn unexplained(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter(|arg| arg.get_help().is_none());
        let own = own.map(|arg| format!("{} {}", command.get_name(), arg.get_id()));
        own.chain(command.get_subcommands().flat_map(unexplained)).collect()
    }

    #[test]
    fn every_word_is_explained() {
        assert_eq!(unexplained(&Cli::command()), Vec::<String>::new());
    }
}
