//! `jm sandbox`: a command by hand, with the confinement that a tool's command would get.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jm_config::Config;
use jm_files::Sandbox;
use jm_process::EnvSanitizer;
use jm_process::command::{CommandEnding, CommandInput, CommandProgram, CommandSpec, run_command};
use jm_process::confine::{Access, ConfinementPlan, find_refusals, read_only};
use jm_process::output_reader::{ChunkAnswer, CommandStream, OutputListener};
use jm_types::Cancel;
use jm_types::text::one_line;
use jm_types::text::sanitize::Sanitizer;

use super::hold::{self, KeepAnswer};
use super::{exit, print};
use crate::cli::{Common, SandboxArgs as Args};
use crate::{confine, wire};

/// Enough to find out what was refused.
const KEEP_BYTES: usize = 64 * 1024;

pub(crate) fn run(common: &Common, args: &Args) -> Result<u8> {
    let mut config = wire::load(common)?.config;
    choose_backend(&mut config, args)?;
    let sandbox = Sandbox::new(&wire::sandbox_settings(common, &config)?)
        .context("cannot open the workspace")?;
    let environment = EnvSanitizer::new(&config.tools.environment.denylist);
    let environment = environment.sanitize(std::env::vars_os());
    let confiner = confine::confiner(&config)?;
    let access = if args.read_only { Access::ReadsOnly } else { Access::Full };
    let plan = match access {
        Access::ReadsOnly => confiner.reading_plan(&sandbox, &environment),
        Access::Full => confiner.plan(&sandbox, &environment),
    };
    if args.show {
        print::text(&in_words(&plan))?;
        return Ok(exit::RAN);
    }
    check_words(&args.command)?;
    let seconds = args.timeout.unwrap_or(config.tools.timeouts.shell_commands_seconds);
    let held = if args.hold { Some(hold::begin(&confiner, &sandbox, &plan, args)?) } else { None };
    plan.gaps.iter().for_each(|gap| print::note(&format!("jm: not confined: {gap}")));
    let program = CommandProgram::Argv(args.command.clone());
    let (environment, confinement) = match (access, &held) {
        (Access::ReadsOnly, _) => {
            let confinement = confiner.reading(&sandbox, &environment, None)?;
            (read_only::environment(&sandbox, &environment, &[]), confinement)
        }
        (Access::Full, held) => {
            let rules = plan.rules.clone();
            let rules = match held {
                Some((_, place)) => rules.on_layer(place.clone()),
                None => rules,
            };
            (environment, confiner.confined_by(rules, &program, None))
        }
    };
    let spec = CommandSpec {
        program,
        directory: sandbox.resolve(".")?,
        environment,
        input: if std::io::stdin().is_terminal() {
            CommandInput::Closed
        } else {
            CommandInput::Ours
        },
        timeout: Duration::from_secs(seconds),
        keep_bytes: KEEP_BYTES,
        confinement,
    };
    let is_line = matches!(&args.command[..], [one] if one.to_string_lossy().contains(' '));
    let ended = execute(spec, &plan).map_err(|error| {
        if is_line {
            anyhow!("{error:#}\n  hint: for shell syntax: jm sandbox -- sh -c '...'")
        } else {
            error
        }
    });
    match (held, ended) {
        (None, ended) => ended,
        (Some((held, _)), Ok(code)) => {
            let judge = hold::judge(&sandbox, &plan).with_upper(held.upper());
            hold::settle(common, held, &judge, KeepAnswer::of(args), code)
        }
        (Some((held, _)), Err(error)) => {
            held.remove().context("cannot remove the layer")?;
            Err(error)
        }
    }
}

/// Whatever is no flag of ours begins the command, so a mistyped one would be looked for as a program.
fn check_words(words: &[OsString]) -> Result<()> {
    let first = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if first.is_empty() {
        bail!("No command given\n  hint: jm sandbox -- make test");
    }
    if first.starts_with('-') {
        bail!("unknown option `{}` (see `jm sandbox --help`)", one_line(&first));
    }
    Ok(())
}

fn choose_backend(config: &mut Config, args: &Args) -> Result<()> {
    use jm_config::{CommandBackend, ConfigWord};
    let Some(name) = &args.backend else { return Ok(()) };
    let known = CommandBackend::ALL.iter().find(|known| known.name() == name);
    let all: Vec<&str> = CommandBackend::ALL.iter().map(|known| known.name()).collect();
    let all = all.join(", ");
    config.tools.sandbox.commands.backend =
        *known.with_context(|| format!("unknown back end `{name}`\n  hint: known: {all}"))?;
    Ok(())
}

fn execute(spec: CommandSpec, plan: &ConfinementPlan) -> Result<u8> {
    let seconds = spec.timeout.as_secs();
    let mut screen = Screen::default();
    let finished = run_command(spec, &screen.cancel.clone(), &mut screen)?;
    if !matches!(finished.ending, CommandEnding::SUCCESS | CommandEnding::Stopped) {
        let said = [&finished.stderr, &finished.stdout].map(|kept| kept.render(KEEP_BYTES));
        let by_proxy = finished.refused_by_proxy.into_iter();
        for refusal in by_proxy.chain(find_refusals(&said.concat(), &plan.rules)) {
            print::note(&format!("jm: {}", refusal.what()));
            refusal.remedy().iter().for_each(|remedy| print::note(&format!("  hint: {remedy}")));
        }
    }
    finished.unended.iter().for_each(|one| print::note(&format!("jm: {}", one.in_words())));
    Ok(match finished.ending {
        CommandEnding::Exited(exit) => u8::try_from(exit.code()).unwrap_or(exit::FAILED),
        CommandEnding::TimedOut => {
            print::note(&format!("jm: ended after {seconds} s"));
            exit::TIMED_OUT
        }
        CommandEnding::Stopped | CommandEnding::Orphaned => exit::CLOSED_PIPE,
    })
}

fn in_words(plan: &ConfinementPlan) -> String {
    let rules = &plan.rules;
    let mut text = format!("confined by: {}\n", rules.backend.name());
    text.push_str(&format!("network: {}\n", rules.network.in_words()));
    let mut list = |title: &str, paths: Vec<String>| {
        if !paths.is_empty() {
            text.push_str(&format!("{title}:\n"));
            paths.iter().for_each(|path| text.push_str(&format!("  {path}\n")));
        }
    };
    let shown =
        |paths: &[std::path::PathBuf]| paths.iter().map(|p| p.display().to_string()).collect();
    match rules.access {
        Access::Full => list("may write", shown(&rules.writable)),
        Access::ReadsOnly => list("may read, not write or execute", shown(&rules.writable)),
    }
    list("may read", shown(&rules.readable));
    list("cannot change", rules.kept.iter().map(|kept| kept.path.display().to_string()).collect());
    list("cannot see", shown(&rules.hidden));
    list("not enforced", plan.gaps.clone());
    jm_types::text::sanitize(&text)
}

/// Output as it comes: exact for programs, harmless for a terminal. When nobody reads it any more,
/// the command has nothing left to do.
#[derive(Default)]
struct Screen {
    stdout: Sanitizer,
    stderr: Sanitizer,
    cancel: Cancel,
}

impl Screen {
    fn show(&mut self, stream: CommandStream, chunk: &str) {
        let clean = match stream {
            CommandStream::Stdout => self.stdout.push(chunk),
            CommandStream::Stderr => self.stderr.push(chunk),
        };
        self.write(stream, clean.as_bytes());
    }

    fn write(&self, stream: CommandStream, bytes: &[u8]) {
        let written = match stream {
            CommandStream::Stdout => put(std::io::stdout().lock(), bytes),
            CommandStream::Stderr => put(std::io::stderr().lock(), bytes),
        };
        if written.is_err() {
            self.cancel.cancel();
        }
    }
}

fn put(mut to: impl Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

fn is_terminal(stream: CommandStream) -> bool {
    match stream {
        CommandStream::Stdout => std::io::stdout().is_terminal(),
        CommandStream::Stderr => std::io::stderr().is_terminal(),
    }
}

impl OutputListener for Screen {
    fn keep(&mut self, stream: CommandStream, bytes: &[u8]) {
        if !is_terminal(stream) {
            self.write(stream, bytes);
        }
    }

    fn hear(&mut self, stream: CommandStream, chunk: &str) -> ChunkAnswer {
        if !is_terminal(stream) {
            return ChunkAnswer::Gone;
        }
        self.show(stream, chunk);
        ChunkAnswer::Taken
    }

    fn hear_last(&mut self, stream: CommandStream, chunk: &str) {
        if is_terminal(stream) {
            self.show(stream, chunk);
        }
    }
}
