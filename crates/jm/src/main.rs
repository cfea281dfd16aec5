//! `jm`: the program. Reads the command line and opens a face.

mod cli;
mod faces;
mod locations;
mod sessions;
mod trust;
mod wire;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use faces::exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Call(call) => faces::call::run(&cli.common, &call),
        Command::Exec(exec) => faces::exec::run(&cli.common, &exec),
        Command::Tools(tools) => faces::housekeeping::tools(&cli.common, &tools),
        Command::Config(config) => faces::housekeeping::config(&cli.common, &config),
        Command::Trust(trust) => faces::housekeeping::trust(&cli.common, &trust),
        Command::Completions { shell } => faces::housekeeping::completions(Cli::command(), shell),
        Command::Man => faces::housekeeping::man(Cli::command()),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            faces::print::error(&error);
            ExitCode::from(exit::USAGE)
        }
    }
}
