//! The words of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jm_types::SessionId;

mod acp;
mod chat;
mod journal;
mod mcp;
mod model;
mod policy;
mod screen;

pub(crate) use acp::Acp;
pub(crate) use chat::Chat;
pub(crate) use journal::{Gc, OutputArgs, Redo, Rewind, SessionsArgs, Span, Undo};
pub(crate) use mcp::{Mcp, McpAdd, McpCommand};
pub(crate) use model::{Model, ModelsArgs, RunArgs, ThinkingLevel, ToolProtocol};
pub(crate) use policy::{Policy, PolicyCommand};
pub(crate) use screen::Screen;

const AFTER_HELP: &str = "\
Examples:
  jm call read_file '{\"path\":\"README.md\"}'
  jm call apply_patch --preview - < patch.json
  jm call run_command '{\"command\":\"make\"}' --allow run_command
  jm exec --approve auto < conversation.md
  jm tools apply_patch

Exit codes of call: 0 the tool ran, 1 the tool said no, 2 the command line or the
configuration is wrong, 3 denied or a person is needed, 130 interrupted. exec puts what
the tools said into its answers and exits with 1 only for input that is no call, with 3
when a call needed a person.

Tools of your own: executables in ~/.config/journeyman/tools, and in .journeyman/tools of a
project that you trust. `jm tools` lists them and says what is wrong with the others.

Configuration: ~/.config/journeyman/config.toml, then .journeyman/config.toml in the
project, then JM_* variables, then flags. `jm config` shows what is in force and why.

JM_LOG=info writes the steps of each call and each model request to standard error, with
their times; it filters like RUST_LOG.";

/// A coding agent whose every tool call is validated, approved, confined and undoable.
#[derive(Debug, Parser)]
#[command(name = "jm", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten, next_help_heading = "Options of every command")]
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
    /// Handling of calls that no list names: auto runs them, prompt asks before side effects,
    /// deny refuses them
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) approve: Option<Approve>,
    /// Answer every prompt with yes; denied tools and paths stay denied
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Allow a tool, or calls of it by a rule: 'run_command: cargo test *' (repeatable); enables
    /// run_command, which is denied by default
    #[arg(long, global = true, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny a tool, or calls of it by a rule (repeatable); a denial always wins
    #[arg(long, global = true, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Go on with this session: what it has read counts, and its calls are one history
    /// [env: JM_SESSION]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Record nothing; such calls cannot be undone
    #[arg(long, global = true)]
    pub(crate) no_journal: bool,
    /// Handling of calls that a crash left unfinished, when nobody can be asked
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
    /// Read this file instead of the user's configuration [env: JM_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Of the faces that have a model.
    #[arg(skip)]
    pub(crate) max_iterations: Option<usize>,
    /// The `.chat` document that is being run, which no tool may write.
    #[arg(skip)]
    pub(crate) document: Option<PathBuf>,
    /// Whoever answers questions in the place of a person.
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
    Prompt,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnRecovery {
    /// Results stand; a change that was half done is completed
    Keep,
    /// Results are marked failed; a change that was half done is taken back
    Discard,
    /// Everything the batch changed is taken back
    Undo,
    /// Nothing is done, and the program says so
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
    /// Settle what a crash left unfinished; never runs anything again
    Recover(ListingArgs),
    /// Check that the journal is what was written
    Verify,
    /// Print all that a call said, also where the model was given less
    Output(OutputArgs),
    /// Print a session as JSON lines or as one HTML page
    Export(ExportArgs),
    /// Remove stored contents that no session uses, and the oldest beyond journal.quota_bytes
    Gc(Gc),
    /// Say how much space the journal takes
    Du(ListingArgs),
    /// List the processes that sessions have started in the background, or stop or read one
    Ps(Ps),
    /// Run a command with the confinement that a tool's command would get
    Sandbox(SandboxArgs),
    /// List held changes of `jm sandbox --hold`, show one as a diff, keep it or drop it
    Held(Held),
    /// Say what works on this machine, and what holds commands in
    Doctor(ListingArgs),
    /// List known models with context and price
    Models(ModelsArgs),
    /// Write a first AGENTS.md for this project
    Init,
    /// List the tools, or show one with its schema
    Tools(ToolsArgs),
    /// Serve an editor that speaks the Agent Client Protocol, over standard input and output
    Acp(Acp),
    /// Use servers of tools that speak MCP, or serve our tools to another agent
    Mcp(Mcp),
    /// Show the configuration in force and where each value comes from
    Config(ConfigArgs),
    /// Say where the vendors' keys come from, and keep them in the system's keyring
    Keys(Keys),
    /// Let this project's own configuration loosen the policy, and its own tools run
    Trust(TrustArgs),
    /// Show the rules that decide about calls, explain a decision, revoke a remembered approval
    Policy(Policy),
    /// Put the ikigai tools into DIR/libexec/journeyman as programs of their own
    InstallPrograms(InstallPrograms),
    /// Print a completion script
    Completions {
        /// Whose
        shell: Shell,
    },
    /// Print the manual page
    Man,
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
    /// Say where each comes from; so does no word at all
    List(ListingArgs),
    /// Keep a key, read from standard input or typed unseen
    Set {
        /// Whose: anthropic, openai, gemini, vertex, openrouter or a name from models.toml
        provider: String,
    },
    /// Forget a key
    Remove {
        /// Whose
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
    /// Session: its id or the beginning of it, its title, or @last; without it the newest conversation
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
    /// Say what would happen, with the diff, and do nothing
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
    /// Session; the newest of this workspace without it
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
    /// Show also what the session was worked with: version, toolset, mode
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Session; the newest of this workspace without it
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
    /// End this one, with all that it started
    #[arg(long, value_name = "ID", conflicts_with_all = ["output", "screen"])]
    pub(crate) stop: Option<String>,
    /// Print what this one has printed
    #[arg(long, value_name = "ID", conflicts_with = "screen")]
    pub(crate) output: Option<String>,
    /// Only bytes A up to but not including B of the output; either may be left out
    #[arg(long, value_name = "A:B", requires = "output")]
    pub(crate) range: Option<Span>,
    /// Print what this one's terminal shows
    #[arg(long, value_name = "ID")]
    pub(crate) screen: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// Back end that confines it: auto, namespaces, bwrap, landlock or none [default: as configured]
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,
    /// End it after so many seconds [default: as configured]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// Say what it may read and write, and run nothing
    #[arg(long)]
    pub(crate) show: bool,
    /// Confine it like a command that runs without a question: it can write nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Hold what it changes in the workspace until it is kept: asks afterwards, and sets the changes aside
    /// where nobody can be asked (exit code 3; `jm held`)
    #[arg(long, conflicts_with_all = ["show", "read_only"])]
    pub(crate) hold: bool,
    /// With --hold: keep what it changed without asking
    #[arg(long, requires = "hold", conflicts_with = "drop")]
    pub(crate) keep: bool,
    /// With --hold: show what it changed and drop it
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
        /// Id from `jm held list`; the only one of this workspace without it
        id: Option<String>,
    },
    /// Apply the changes to the workspace
    Keep {
        /// Id from `jm held list`; the only one of this workspace without it
        id: Option<String>,
    },
    /// Throw the changes away
    Drop {
        /// Id from `jm held list`; the only one of this workspace without it
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
    /// Take the trust back
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Only say whether the project is trusted
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) show: bool,
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
