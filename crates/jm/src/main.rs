//! `jm`: the program. Reads the command line and opens a face.

mod agent;
mod approval;
mod cli;
mod confine;
mod external;
mod faces;
mod instructions;
mod locations;
mod log;
mod lua;
mod mcp;
mod model_client;
mod project;
mod remembered;
mod session_name;
mod sessions;
mod trust;
mod wire;

use std::process::ExitCode;

use anyhow::Result;
use cli::{Cli, Command};
use faces::exit;

fn main() -> ExitCode {
    // Before anything else: a launcher must have no second thread.
    if let Some(code) = jm_process::inside::run_as_launcher() {
        return code;
    }
    if let Some(code) = jm_process::background::run_as_daemon() {
        return code;
    }
    if let Some(code) = jm_lua::inside::run_as_child() {
        return code;
    }
    if let Some(code) = jm_system::console::guarded() {
        return code;
    }
    jm_system::own_program::catch_file_size_signal();
    // A panic's message may carry what a file holds; where it happened is enough to report it.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        faces::print::note(&format!("jm: internal error at {place}"));
    }));
    log::install();
    let outcome = match faces::programs::run_by_name() {
        Some(outcome) => outcome,
        None => match faces::completions::answer() {
            Some(outcome) => outcome,
            None => cli::parse().map(with_variables).and_then(run),
        },
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) if faces::print::is_closed_pipe(&error) => ExitCode::from(exit::CLOSED_PIPE),
        Err(error) => {
            faces::print::error(&error);
            ExitCode::from(exit::USAGE)
        }
    }
}

/// Fills flags that are not given from variables.
fn with_variables(mut cli: Cli) -> Cli {
    let Cli { common, .. } = &mut cli;
    // What is not UTF-8 names no session, which is said where sessions are opened.
    let session = || locations::named("JM_SESSION").map(|id| id.to_string_lossy().as_ref().into());
    common.session = common.session.take().or_else(session);
    common.config = common.config.take().or_else(|| locations::named("JM_CONFIG").map(Into::into));
    cli
}

fn run(cli: Cli) -> Result<u8> {
    let Some(command) = cli.command else { return faces::tui::run(&cli.common, &cli.screen) };
    cli.screen.refuse_beside_a_command()?;
    match command {
        Command::Run(run) => faces::run::run(&cli.common, &run),
        Command::Repl(repl) => faces::repl::run(&cli.common, &repl.model),
        Command::Resume(resume) => faces::tui::resume(&cli.common, &resume),
        Command::Chat(chat) => faces::chat::run(&cli.common, &chat),
        Command::Demo => faces::demo::run(),
        Command::Call(call) => faces::call::run(&cli.common, &call),
        Command::Exec(exec) => faces::exec::run(&cli.common, &exec),
        Command::Sessions(args) => faces::session_list::run(&cli.common, &args),
        Command::Models(args) => faces::models::run(&args),
        Command::Init => faces::init::run(&cli.common),
        Command::Log(log) => faces::log::run(&cli.common, &log),
        Command::Undo(undo) => faces::undo::undo(&cli.common, &undo),
        Command::Redo(redo) => faces::undo::redo(&cli.common, redo),
        Command::Rewind(rewind) => faces::rewind::run(&cli.common, &rewind),
        Command::Recover(listing) => faces::recover::run(&cli.common, &listing),
        Command::Verify => faces::history::verify(),
        Command::Output(output) => faces::output::run(&output),
        Command::Export(export) => faces::export::run(&cli.common, &export),
        Command::Gc(gc) => faces::disk_usage::collect(&cli.common, &gc),
        Command::Du(listing) => faces::disk_usage::disk_use(&cli.common, &listing),
        Command::Ps(ps) => faces::ps::run(&cli.common, &ps),
        Command::Sandbox(sandbox) => faces::sandbox::run(&cli.common, &sandbox),
        Command::Held(held) => faces::held::run(&cli.common, &held),
        Command::Doctor(listing) => faces::doctor::run(&cli.common, &listing),
        Command::Tools(tools) => faces::tools::run(&cli.common, &tools),
        Command::Acp(acp) => faces::acp::run(&cli.common, &acp),
        Command::Mcp(mcp) => faces::mcp::run(&cli.common, &mcp),
        Command::Config(config) => faces::settings_commands::config(&cli.common, &config),
        Command::Keys(keys) => faces::keys::run(&keys),
        Command::Trust(trust) => faces::trust::run(&cli.common, &trust),
        Command::Policy(policy) => faces::policy::run(&cli.common, &policy),
        Command::Completions { shell } => faces::completions::script(shell),
        Command::InstallPrograms(args) => faces::programs::install(&args),
        Command::Man(man) => faces::manual::run(&man),
        Command::Help(help) => faces::help::run(&help),
    }
}
