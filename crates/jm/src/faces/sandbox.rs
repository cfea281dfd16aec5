//! `jm sandbox`: a command by hand, behind the walls that a tool's command would get.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jm_engine::config::Config;
use jm_types::Cancel;
use jm_types::text::sanitize::Sanitizer;
use jm_workspace::confine::{Plan, bites};
use jm_workspace::process::{CommandSpec, Ending, Input, Program, run as run_command};
use jm_workspace::pump::{Listener, Offer, Stream};
use jm_workspace::{EnvSanitizer, Sandbox};

use super::{exit, print};
use crate::cli::{Common, Sandbox as Args};
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
    if args.show {
        print::text(&in_words(&confiner.plan(&sandbox, &environment)))?;
        return Ok(exit::RAN);
    }
    if args.command.is_empty() {
        bail!("no command is given\n  hint: jm sandbox -- make test");
    }
    let seconds = args.timeout.unwrap_or(config.tools.timeouts.shell_commands_seconds);
    let plan = confiner.plan(&sandbox, &environment);
    plan.gaps.iter().for_each(|gap| print::note(&format!("jm: not confined: {gap}")));
    let program = Program::Argv(args.command.clone());
    let confinement = confiner.confinement(&sandbox, &environment, &program, None);
    let spec = CommandSpec {
        program,
        directory: sandbox.resolve(".")?,
        environment,
        input: Input::Closed,
        timeout: Duration::from_secs(seconds),
        keep_bytes: KEEP_BYTES,
        confinement,
    };
    execute(spec, &plan)
}

fn choose_backend(config: &mut Config, args: &Args) -> Result<()> {
    use jm_engine::config::{CommandBackend, Word};
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
    let finished = run_command(spec, &Cancel::new(), &mut Screen::default())?;
    if finished.ending != Ending::Exited(0) {
        let said = [&finished.stderr, &finished.stdout].map(|kept| kept.render(KEEP_BYTES));
        let by_gate = finished.refused_by_gate.into_iter();
        for bite in by_gate.chain(bites(&said.concat(), &plan.walls)) {
            print::note(&format!("jm: {}", bite.what()));
            bite.remedy().iter().for_each(|remedy| print::note(&format!("  hint: {remedy}")));
        }
    }
    Ok(match finished.ending {
        Ending::Exited(code) => u8::try_from(code).unwrap_or(exit::FAILED),
        Ending::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(exit::FAILED),
        Ending::TimedOut => {
            print::note(&format!("jm: ended after {seconds} s"));
            exit::TIMED_OUT
        }
        Ending::Cancelled => exit::INTERRUPTED,
    })
}

fn in_words(plan: &Plan) -> String {
    let walls = &plan.walls;
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
    list("may write", shown(&walls.writable));
    list("may read", shown(&walls.readable));
    list("cannot change", walls.kept.iter().map(|kept| kept.path.display().to_string()).collect());
    list("cannot see", shown(&walls.hidden));
    list("not enforced", plan.gaps.clone());
    jm_types::text::sanitize(&text)
}

/// Output as it comes: exact for programs, harmless for a terminal.
#[derive(Default)]
struct Screen {
    stdout: Sanitizer,
    stderr: Sanitizer,
}

impl Screen {
    fn show(&mut self, stream: Stream, chunk: &str) -> std::io::Result<()> {
        match stream {
            Stream::Stdout => show(std::io::stdout().lock(), &mut self.stdout, chunk),
            Stream::Stderr => show(std::io::stderr().lock(), &mut self.stderr, chunk),
        }
    }
}

fn show(
    mut to: impl Write + IsTerminal,
    clean: &mut Sanitizer,
    chunk: &str,
) -> std::io::Result<()> {
    match to.is_terminal() {
        true => to.write_all(clean.push(chunk).as_bytes())?,
        false => to.write_all(chunk.as_bytes())?,
    }
    to.flush()
}

impl Listener for Screen {
    fn hear(&mut self, stream: Stream, chunk: &str) -> Offer {
        match self.show(stream, chunk) {
            Ok(()) => Offer::Taken,
            Err(_) => Offer::Gone,
        }
    }

    fn hear_last(&mut self, stream: Stream, chunk: &str) {
        // Whoever does not read it any more misses the last chunk too.
        self.show(stream, chunk).unwrap_or_default();
    }
}
