//! `jm sandbox`: a command by hand, behind the walls that a tool's command would get.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jm_config::Config;
use jm_types::Cancel;
use jm_types::text::one_line;
use jm_types::text::sanitize::Sanitizer;
use jm_workspace::confine::{Access, Plan, bites, reading};
use jm_workspace::process::{CommandSpec, Ending, Input, Program, run as run_command};
use jm_workspace::pump::{Listener, Offer, Stream};
use jm_workspace::{EnvSanitizer, Sandbox};

use super::{exit, print};
use crate::cli::{Common, SandboxArgs as Args};
use crate::{confine, wire};

/// Enough to find out what was refused.
const KEEP_BYTES: usize = 64 * 1024;

pub(crate) fn run(common: &Common, args: &Args) -> Result<u8> {
    let mut config = wire::load(common)?.config;
    choose_backend(&mut config, args)?;
    let sandbox = Sandbox::new(&wire::sandbox_settings(common, &config)?)
        .context("the workspace cannot be opened")?;
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
    plan.gaps.iter().for_each(|gap| print::note(&format!("jm: not confined: {gap}")));
    let program = Program::Argv(args.command.clone());
    let (environment, confinement) = match access {
        Access::ReadsOnly => {
            let confinement = confiner.reading(&sandbox, &environment, None)?;
            (reading::environment(&sandbox, &environment, &[]), confinement)
        }
        Access::Full => {
            let confinement = confiner.confined_by(plan.rules.clone(), &program, None);
            (environment, confinement)
        }
    };
    let spec = CommandSpec {
        program,
        directory: sandbox.resolve(".")?,
        environment,
        input: if std::io::stdin().is_terminal() { Input::Closed } else { Input::Ours },
        timeout: Duration::from_secs(seconds),
        keep_bytes: KEEP_BYTES,
        confinement,
    };
    let is_line = matches!(&args.command[..], [one] if one.to_string_lossy().contains(' '));
    execute(spec, &plan).map_err(|error| {
        if is_line {
            anyhow!("{error:#}\n  hint: no shell reads this: jm sandbox -- sh -c '...'")
        } else {
            error
        }
    })
}

/// Whatever is no flag of ours begins the command, so a mistyped one would be looked for as a program.
fn check_words(words: &[OsString]) -> Result<()> {
    let first = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if first.is_empty() {
        bail!("no command is given\n  hint: jm sandbox -- make test");
    }
    if first.starts_with('-') {
        bail!("there is no flag `{}`\n  hint: `jm sandbox --help` lists them", one_line(&first));
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

fn execute(spec: CommandSpec, plan: &Plan) -> Result<u8> {
    let seconds = spec.timeout.as_secs();
    let mut screen = Screen::default();
    let finished = run_command(spec, &screen.cancel.clone(), &mut screen)?;
    if !matches!(finished.ending, Ending::Exited(0) | Ending::Cancelled) {
        let said = [&finished.stderr, &finished.stdout].map(|kept| kept.render(KEEP_BYTES));
        let by_gate = finished.refused_by_proxy.into_iter();
        for bite in by_gate.chain(bites(&said.concat(), &plan.rules)) {
            print::note(&format!("jm: {}", bite.what()));
            bite.remedy().iter().for_each(|remedy| print::note(&format!("  hint: {remedy}")));
        }
    }
    finished.unended.iter().for_each(|one| print::note(&format!("jm: {}", one.in_words())));
    Ok(match finished.ending {
        Ending::Exited(code) => u8::try_from(code).unwrap_or(exit::FAILED),
        Ending::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(exit::FAILED),
        Ending::TimedOut => {
            print::note(&format!("jm: ended after {seconds} s"));
            exit::TIMED_OUT
        }
        Ending::Cancelled => exit::CLOSED_PIPE,
    })
}

fn in_words(plan: &Plan) -> String {
    let walls = &plan.rules;
    let mut text = format!("confined by: {}\n", walls.backend.name());
    text.push_str(&format!("network: {}\n", walls.network.in_words()));
    let mut list = |title: &str, paths: Vec<String>| {
        if !paths.is_empty() {
            text.push_str(&format!("{title}:\n"));
            paths.iter().for_each(|path| text.push_str(&format!("  {path}\n")));
        }
    };
    let shown =
        |paths: &[std::path::PathBuf]| paths.iter().map(|p| p.display().to_string()).collect();
    match walls.access {
        Access::Full => list("may write", shown(&walls.writable)),
        Access::ReadsOnly => {
            list("may read, and neither write nor execute", shown(&walls.writable))
        }
    }
    list("may read", shown(&walls.readable));
    list("cannot change", walls.kept.iter().map(|kept| kept.path.display().to_string()).collect());
    list("cannot see", shown(&walls.hidden));
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
    fn show(&mut self, stream: Stream, chunk: &str) {
        let clean = match stream {
            Stream::Stdout => self.stdout.push(chunk),
            Stream::Stderr => self.stderr.push(chunk),
        };
        self.write(stream, clean.as_bytes());
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        let written = match stream {
            Stream::Stdout => put(std::io::stdout().lock(), bytes),
            Stream::Stderr => put(std::io::stderr().lock(), bytes),
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

fn is_terminal(stream: Stream) -> bool {
    match stream {
        Stream::Stdout => std::io::stdout().is_terminal(),
        Stream::Stderr => std::io::stderr().is_terminal(),
    }
}

impl Listener for Screen {
    fn keep(&mut self, stream: Stream, bytes: &[u8]) {
        if !is_terminal(stream) {
            self.write(stream, bytes);
        }
    }

    fn hear(&mut self, stream: Stream, chunk: &str) -> Offer {
        if !is_terminal(stream) {
            return Offer::Gone;
        }
        self.show(stream, chunk);
        Offer::Taken
    }

    fn hear_last(&mut self, stream: Stream, chunk: &str) {
        if is_terminal(stream) {
            self.show(stream, chunk);
        }
    }
}
