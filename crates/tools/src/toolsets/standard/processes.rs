//! `start_process` and `process`: commands that go on in the background.

use std::fmt::Write;
use std::time::Duration;

use jm_process::background::{
    JobLifetime, KEY_NAMES, TerminalKey, TerminalSize, Typed, TypedCount,
};
use jm_process::command::CommandProgram;
use jm_types::{Limits, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::ops::job::{
    JobCall, JobId, JobOutcome, JobPort, JobQuery, JobStatus, JobView, ListedJob, Look, LookedAt,
    PortState, StartJob, StartedJob,
};
use crate::tool::Output;
use crate::toolsets::args::parse_args;
use crate::toolsets::derived::derived;
use crate::toolsets::lowered::{Lowered, Stakes};
use crate::toolsets::row::{Row, SchemaOf, Translate};

const LONGEST_LIFETIME: u64 = 12 * 60 * 60;
/// Below this only the superuser may listen, in the session's network too.
const LOWEST_PORT: u16 = 1024;
const MOST_PORTS: usize = 8;
const USUAL_WAIT: u64 = 10;
const LONGEST_WAIT: u64 = 600;
/// A program that measures its terminal gets one in which it can draw.
const SMALLEST: TerminalSize = TerminalSize { rows: 5, columns: 20 };
const LARGEST: TerminalSize = TerminalSize { rows: 200, columns: 500 };

pub(super) const START_PROCESS: Row = Row {
    name: "start_process",
    description: "Start a command that goes on in the background, such as a development server, a \
        watcher or an interactive program, and return at once with its id. lifetime_seconds is the \
        longest that it may run; it is also ended with the session. Give it a terminal with pty for \
        programs that draw on the screen or ask for input there. Look at it, type into it, wait for \
        it and stop it with process. Commands of the session reach its servers on localhost, and \
        nothing else does, but for ports in publish, which the user's browser reaches too; where \
        that is refused, talk to a server from the same command, as in `server & curl ...`. For a \
        command that ends by itself soon use run_command.",
    schema: SchemaOf::Struct(derived::<StartProcess>),
    stakes: Stakes::RUNS,
    translation: &Translate { lower: lower_start, raise: raise_start },
};

pub(super) const PROCESS: Row = Row {
    name: "process",
    description: "Work with a process that start_process started in this session. read: what it \
        printed since the last look (or bytes from..to), or its screen if it has a terminal. write: \
        type text, then keys, and see what came of it. wait: until it ends, or prints the text in \
        until, or seconds have passed. stop: end it with all it started. list: all processes of the \
        session.",
    schema: SchemaOf::Struct(derived::<Process>),
    stakes: Stakes::RUNS,
    translation: &Translate { lower: lower_process, raise: raise_process },
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StartProcess {
    /// A command line for the shell. Give this or argv.
    command: Option<String>,
    /// A program and its arguments, without a shell.
    argv: Option<Vec<String>>,
    /// Directory to start in. Default: the workspace root.
    cwd: Option<String>,
    /// The longest that it may run; then it is ended with all it started.
    #[schemars(range(min = 1, max = 43200))]
    lifetime_seconds: u64,
    /// Give it a terminal, so that its screen can be read and keys be typed. Default false.
    pty: Option<bool>,
    /// Rows of the terminal. Default 24.
    #[schemars(range(min = 5, max = 200))]
    rows: Option<u16>,
    /// Columns of the terminal. Default 80.
    #[schemars(range(min = 20, max = 500))]
    columns: Option<u16>,
    #[schemars(
        description = "Let it run on when the session ends, until its lifetime is over. Only when the user asked for that. Default false."
    )]
    keep_after_session: Option<bool>,
    #[schemars(
        description = "Ports it listens on that the user wants to reach too, at 127.0.0.1 of the user's machine, such as [8123]. Only when the user wants to see it, in a browser for instance. The user is asked.",
        inner(range(min = 1024, max = 65535))
    )]
    publish: Option<Vec<u16>>,
}

fn lower_start(args: Value, _: &Limits) -> Result<Lowered<StartJob>, ToolError> {
    let args: StartProcess = parse_args(args)?;
    let (program, command) = program(args.command, args.argv)?;
    if !(1..=LONGEST_LIFETIME).contains(&args.lifetime_seconds) {
        return Err(ToolError::bad_args(format!(
            "lifetime_seconds is {}; it may be 1 to {LONGEST_LIFETIME}",
            args.lifetime_seconds
        ))
        .hint("choose the longest time for which the process is needed"));
    }
    let terminal = terminal(args.pty.unwrap_or(false), args.rows, args.columns)?;
    let (keeping, how) = if args.keep_after_session.unwrap_or(false) {
        (JobLifetime::Kept, ", to be kept after the session")
    } else {
        (JobLifetime::WithTheSession, "")
    };
    let publish = ports(args.publish.unwrap_or_default())?;
    let published = match publish.is_empty() {
        true => String::new(),
        false => format!(", published at {}", addresses(&publish)),
    };
    let place = args.cwd.as_deref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
    let lifetime = args.lifetime_seconds;
    let summary = format!(
        "Start in the background{published}{how}, for {lifetime} s at most{place}: {command}"
    );
    let start = StartJob {
        program,
        command,
        directory: args.cwd.unwrap_or_else(|| ".".to_owned()),
        lifetime: Duration::from_secs(lifetime),
        terminal,
        keeping,
        publish,
    };
    Ok(Lowered::new(start, summary))
}

/// Ports that can be published, each once.
fn ports(mut ports: Vec<u16>) -> Result<Vec<u16>, ToolError> {
    ports.sort_unstable();
    ports.dedup();
    if let Some(port) = ports.iter().find(|port| **port < LOWEST_PORT) {
        return Err(ToolError::bad_args(format!(
            "port {port} cannot be published; {LOWEST_PORT} to 65535 can"
        ))
        .hint("let the server listen on a port from 1024 on, such as 8080"));
    }
    if ports.len() > MOST_PORTS {
        return Err(ToolError::bad_args(format!("at most {MOST_PORTS} ports can be published")));
    }
    Ok(ports)
}

fn addresses(ports: &[u16]) -> String {
    ports.iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(", ")
}

fn program(
    command: Option<String>,
    argv: Option<Vec<String>>,
) -> Result<(CommandProgram, String), ToolError> {
    let has_nul = |text: &String| text.contains('\0');
    match (command, argv) {
        (Some(command), None) if command.trim().is_empty() => {
            Err(ToolError::bad_args("command must not be blank"))
        }
        (Some(command), None) if has_nul(&command) => {
            Err(ToolError::bad_args("command contains a NUL character"))
        }
        (Some(command), None) => Ok((CommandProgram::Shell(command.clone()), command)),
        (None, Some(argv)) if argv.first().is_none_or(String::is_empty) => {
            Err(ToolError::bad_args("argv has to begin with the name of a program"))
        }
        (None, Some(argv)) if argv.iter().any(has_nul) => {
            Err(ToolError::bad_args("argv contains a NUL character"))
        }
        (None, Some(argv)) => {
            let shown = serde_json::to_string(&argv).unwrap_or_default();
            Ok((CommandProgram::Argv(argv.into_iter().map(Into::into).collect()), shown))
        }
        (Some(_), Some(_)) => Err(ToolError::bad_args("give either command or argv, not both")),
        (None, None) => Err(ToolError::bad_args("command is missing")
            .hint("give command, a line for the shell, or argv, a program with its arguments")),
    }
}

fn terminal(
    is_wanted: bool,
    rows: Option<u16>,
    columns: Option<u16>,
) -> Result<Option<TerminalSize>, ToolError> {
    if !is_wanted {
        return match rows.or(columns) {
            Some(_) => Err(ToolError::bad_args("rows and columns are of a terminal")
                .hint("give pty: true, or leave them out")),
            None => Ok(None),
        };
    }
    let rows = rows.unwrap_or(TerminalSize::USUAL.rows);
    let columns = columns.unwrap_or(TerminalSize::USUAL.columns);
    let fits = (SMALLEST.rows..=LARGEST.rows).contains(&rows)
        && (SMALLEST.columns..=LARGEST.columns).contains(&columns);
    if fits {
        return Ok(Some(TerminalSize { rows, columns }));
    }
    Err(ToolError::bad_args(format!(
        "a terminal has {} to {} rows and {} to {} columns",
        SMALLEST.rows, LARGEST.rows, SMALLEST.columns, LARGEST.columns
    )))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Process {
    action: ProcessAction,
    /// The process, such as p3, as start_process said. All actions but list need it.
    id: Option<String>,
    /// read: first byte of the output, counted from 0. Without from and to: what is new.
    from: Option<u64>,
    /// read: up to but not including this byte.
    to: Option<u64>,
    #[schemars(
        description = "stream: what was printed, in order. screen: what its terminal shows. Default: screen for a process with a terminal."
    )]
    view: Option<Viewed>,
    /// write: text to type. A line ends with a newline, or with the key enter in a terminal.
    text: Option<String>,
    #[schemars(
        description = "write: keys to press after the text: enter, tab, escape, backspace, up, down, left, right, home, end, page-up, page-down, f1 to f12, ctrl-a to ctrl-z, alt-x. Without a terminal only enter, tab, space, and ctrl-d, which closes its input."
    )]
    keys: Option<Vec<String>>,
    /// wait: the longest to wait. Default 10.
    #[schemars(range(min = 1, max = 600))]
    seconds: Option<u64>,
    #[schemars(
        description = "wait: also stop waiting when this text is printed, such as listening on. Counts what came since the last read or wait; in a terminal, what is on the screen."
    )]
    until: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ProcessAction {
    Read,
    Write,
    Wait,
    Stop,
    List,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Viewed {
    Stream,
    Screen,
}

fn lower_process(args: Value, _: &Limits) -> Result<Lowered<JobCall>, ToolError> {
    let args: Process = parse_args(args)?;
    check_arguments(&args)?;
    if args.action == ProcessAction::List {
        let list = JobCall::List;
        return Ok(Lowered::new(list, "List background processes").at_stake(Stakes::READS));
    }
    let id = args.id.ok_or_else(|| {
        ToolError::bad_args("id is missing").hint("action list shows the processes of this session")
    })?;
    let id: JobId = id.parse()?;
    let (what, summary, stakes) = match args.action {
        ProcessAction::Write => {
            let typed = typed(args.text, args.keys)?;
            let summary = format!("Type into background process {id}: {}", shown(&typed));
            // Whoever reads it may be a shell.
            (JobQuery::Write(typed), summary, Stakes::RUNS)
        }
        ProcessAction::Wait => {
            let most = args.seconds.unwrap_or(USUAL_WAIT);
            let wait = JobQuery::Wait { most: Duration::from_secs(most), until: args.until };
            (wait, format!("Wait for background process {id}"), Stakes::READS)
        }
        // A session may always end what it started: it would end by itself.
        ProcessAction::Stop => {
            (JobQuery::Stop, format!("Stop background process {id}"), Stakes::READS)
        }
        ProcessAction::Read | ProcessAction::List => {
            let read = match (args.from, args.to) {
                (None, None) => JobQuery::ReadNew,
                (start, end) => JobQuery::ReadRange { start: start.unwrap_or(0), end },
            };
            (read, format!("Read background process {id}"), Stakes::READS)
        }
    };
    let view = args.view.map(|view| match view {
        Viewed::Stream => JobView::Stream,
        Viewed::Screen => JobView::Screen,
    });
    let call = JobCall::Ask { id, what, view };
    Ok(Lowered::new(call, summary).at_stake(stakes))
}

/// An argument of another action would be overlooked, which nobody means.
fn check_arguments(args: &Process) -> Result<(), ToolError> {
    let given = [
        ("from", args.from.is_some(), &[ProcessAction::Read][..]),
        ("to", args.to.is_some(), &[ProcessAction::Read]),
        ("text", args.text.is_some(), &[ProcessAction::Write]),
        ("keys", args.keys.is_some(), &[ProcessAction::Write]),
        ("seconds", args.seconds.is_some(), &[ProcessAction::Wait]),
        ("until", args.until.is_some(), &[ProcessAction::Wait]),
    ];
    let stray = given.iter().find(|(_, is_given, of)| *is_given && !of.contains(&args.action));
    if let Some((name, _, of)) = stray {
        let of = format!("{:?}", of[0]).to_lowercase();
        return Err(ToolError::bad_args(format!("{name} belongs to the action {of}")));
    }
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        return Err(ToolError::bad_args(format!("from {from} is after to {to}")));
    }
    if args.until.as_deref() == Some("") {
        return Err(ToolError::bad_args("until is empty"));
    }
    match args.seconds {
        Some(seconds) if !(1..=LONGEST_WAIT).contains(&seconds) => {
            Err(ToolError::bad_args(format!("seconds is {seconds}; it may be 1 to {LONGEST_WAIT}")))
        }
        _ => Ok(()),
    }
}

/// The text, then the keys.
fn typed(text: Option<String>, keys: Option<Vec<String>>) -> Result<Vec<Typed>, ToolError> {
    let mut typed: Vec<Typed> =
        text.filter(|text| !text.is_empty()).map(Typed::Text).into_iter().collect();
    for name in keys.unwrap_or_default() {
        let key: TerminalKey =
            name.parse().map_err(|error: jm_process::background::NoSuchKey| {
                ToolError::bad_args(error.to_string())
                    .hint(format!("keys are {KEY_NAMES}; anything else is text"))
            })?;
        typed.push(Typed::Key(key));
    }
    if typed.is_empty() {
        return Err(ToolError::bad_args("there is nothing to type")
            .hint("give text, keys such as [\"enter\"], or both"));
    }
    Ok(typed)
}

fn shown(typed: &[Typed]) -> String {
    let one = |typed: &Typed| match typed {
        Typed::Text(text) => serde_json::to_string(text).unwrap_or_default(),
        Typed::Key(key) => format!("<{key}>"),
    };
    typed.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn raise_start(started: StartedJob, _: usize) -> Result<Output, ToolError> {
    let StartedJob { look, ports } = started;
    let ListedJob { id, command, keeping, .. } = &look.listed;
    let end = match keeping {
        JobLifetime::WithTheSession => "it ends with this session",
        JobLifetime::Kept => "it is kept after this session",
    };
    let ports: String = ports.iter().map(|port| format!("({})\n", port_words(*port))).collect();
    Ok(Output::Text(format!("Started {id}: {command}\n({end})\n{ports}{}", text_of(&look))))
}

fn port_words(JobPort { port, state }: JobPort) -> String {
    match state {
        PortState::Published => {
            format!("port {port} is published: the user reaches it at 127.0.0.1:{port}")
        }
        PortState::PublishedBy(id) => {
            format!("port {port} is published by {id} at 127.0.0.1:{port}, for this process too")
        }
        PortState::InUse => {
            format!("port {port} is not published yet: another program has it on this machine")
        }
        PortState::Direct => {
            format!("port {port} needs no publishing: the process has the network of this machine")
        }
        PortState::Unreachable => {
            format!("port {port} is not published: the sandbox back end cannot do that")
        }
    }
}

fn raise_process(outcome: JobOutcome, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Text(match outcome {
        JobOutcome::Looked(look) => text_of(&look),
        JobOutcome::Listed(all) if all.is_empty() => {
            "No processes were started in this session.".to_owned()
        }
        JobOutcome::Listed(all) => all.iter().map(line_of).collect::<Vec<_>>().join("\n"),
    }))
}

fn line_of(listed: &ListedJob) -> String {
    let kept = if listed.keeping == JobLifetime::Kept { ", kept" } else { "" };
    let terminal = if listed.terminal.is_some() { ", terminal" } else { "" };
    let published = match listed.published.is_empty() {
        true => String::new(),
        false => format!(", published at {}", addresses(&listed.published)),
    };
    let state = words(&listed.status);
    format!("{}: {state}{kept}{terminal}{published}: {}", listed.id, listed.command)
}

fn words(status: &JobStatus) -> String {
    match status {
        JobStatus::Running { elapsed, left } => {
            format!("running for {} s, {} s left", elapsed.as_secs(), left.as_secs())
        }
        JobStatus::Ended { how, elapsed } => {
            format!("{}, after {:.1} s", how.words(), elapsed.as_secs_f64())
        }
    }
}

/// The state of a job, the result of the call, and the output.
fn text_of(look: &Look) -> String {
    let mut head = format!("[{}: {}", look.listed.id, words(&look.listed.status));
    let body = match &look.output {
        LookedAt::Stream(shown) => {
            // Writing to a string cannot fail.
            write!(head, "; bytes {} to {} of {}", shown.start, shown.end, shown.total)
                .unwrap_or_default();
            if shown.text.is_empty() { "(nothing new)" } else { &shown.text }
        }
        LookedAt::Screen(screen) => {
            write!(head, "; screen, cursor in row {} column {}", screen.row, screen.column)
                .unwrap_or_default();
            if screen.text.is_empty() { "(the screen is empty)" } else { &screen.text }
        }
    };
    let notes = [
        look.taken.and_then(note_of_taken),
        look.found.filter(|found| !found).map(|_| "the text did not come".to_owned()),
    ];
    for note in notes.into_iter().flatten() {
        write!(head, "; {note}").unwrap_or_default();
    }
    let hints: String = look.refusals.iter().map(|refusal| format!("hint: {refusal}\n")).collect();
    // As in the error of a command: what was printed comes after an empty line.
    let joint = if hints.is_empty() { "" } else { "\n" };
    format!("{head}]\n{hints}{joint}{body}")
}

fn note_of_taken(taken: TypedCount) -> Option<String> {
    let TypedCount { bytes, offered, is_closed } = taken;
    match (bytes == offered, is_closed) {
        (true, false) => None,
        (true, true) => Some("its input is closed now".to_owned()),
        (false, true) => Some(format!("its input is closed: it took {bytes} of {offered} bytes")),
        (false, false) => Some(format!(
            "it does not read: it took {bytes} of {offered} bytes, the rest was not typed"
        )),
    }
}
