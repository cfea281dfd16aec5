//! `jm` without a command: the screen (jm-tui), with the engine at work behind it.
//!
//! Law: the screen has a thread of its own and the engine keeps this one, so a key never waits; what
//! passes between them is data.

mod commands;
mod host;
mod listing;
mod pictures;
mod screen_link;
mod setup;
mod talk;

use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::{Result, bail};
use jm_config::Notify;
use jm_tui::app::App;
use jm_tui::mailbox::Mailbox;
use jm_tui::msg::Msg;
use jm_tui::runner::{self, Notice, Options};
use jm_tui::status::Status;
use jm_tui::terminal::{Settings, TerminalOutput};
use jm_tui::text::Surroundings;
use jm_types::SessionId;
use tokio::sync::mpsc::unbounded_channel;

pub(crate) use commands::{flag_of, mode_word, status_lines, take_back, undo_text};
pub(crate) use screen_link::{AskingDesk, Desk};

use super::call_loop::block_on;
use super::{demo, exit, home, print, repl, run as headless};
use crate::agent::Looks;
use crate::cli::{Common, Model, OVERVIEW, Resume, RunArgs, Screen};
use crate::{locations, sessions, wire};

/// The state that the screen opens with.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) common: Common,
    pub(crate) model: Model,
    pub(crate) prompt: Option<String>,
}

/// The state left when the screen is closed.
#[derive(Debug)]
enum Left {
    Nothing,
    /// A conversation that can be resumed.
    Session(SessionId),
    /// The person wants the tour instead.
    Demo,
}

pub(crate) fn run(common: &Common, screen: &Screen) -> Result<u8> {
    screen.refuse_slips()?;
    let environment = locations::environment();
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut common = common.clone();
    if screen.continues {
        common.session = Some(repl::newest_conversation(&common)?);
    }
    if !is_terminal {
        return without_terminal(&common, screen);
    }
    if screen.plain || Surroundings(&environment).wants_plain() {
        return repl::run_with(&common, &screen.model, screen.prompt.as_deref(), Looks::Lines);
    }
    home::confirm(&common)?;
    open(&common, &screen.model, screen.prompt.clone(), &environment)
}

pub(crate) fn resume(common: &Common, resume: &Resume) -> Result<u8> {
    let environment = locations::environment();
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_terminal || resume.plain || Surroundings(&environment).wants_plain() {
        return repl::resume(common, resume);
    }
    let mut common = common.clone();
    common.session = Some(match &resume.id {
        Some(id) => sessions::existing(&common, id)?,
        None => repl::newest_conversation(&common)?,
    });
    home::confirm(&common)?;
    open(&common, &resume.model, None, &environment)
}

/// A prompt without a terminal is a run; nothing at all is a question for help.
fn without_terminal(common: &Common, screen: &Screen) -> Result<u8> {
    let Some(prompt) = &screen.prompt else {
        print::note(OVERVIEW.trim_end());
        return Ok(exit::USAGE);
    };
    let run =
        RunArgs { prompt: vec![prompt.clone()], model: screen.model.clone(), ..RunArgs::default() };
    headless::run(common, &run)
}

fn options(notify: Notify, environment: &[(String, String)]) -> Options {
    let around = Surroundings(environment);
    let notice = match notify {
        Notify::Off => Notice::Off,
        Notify::Desktop => Notice::Desktop,
        Notify::Bell => Notice::Bell,
    };
    let keyboard = !around.is_screen() && around.get("TERM") != Some("linux");
    let alternate = !around.is_screen();
    let drawing = Settings { theme: around.theme(), reflows: around.reflows(), alternate };
    Options { drawing, notice, keyboard }
}

fn open(
    common: &Common,
    model: &Model,
    prompt: Option<String>,
    environment: &[(String, String)],
) -> Result<u8> {
    let mailbox = Arc::new(Mailbox::default());
    let (orders, received) = unbounded_channel();
    let options = options(wire::load(common)?.config.notify, environment);
    let own = Arc::clone(&mailbox);
    let shown = std::thread::Builder::new().name("screen".into()).spawn(move || {
        let app = App::new(Status::default());
        let mut host = host::Host::new(orders);
        runner::run(app, &own, TerminalOutput, options, &mut host)
    })?;
    let diverted = {
        let mailbox = Arc::clone(&mailbox);
        print::Diverted::to(Box::new(move |text| talk::tell(&mailbox, text)))
    };
    let start = Start { common: common.clone(), model: model.clone(), prompt };
    let worked = block_on(talk::run(start, Arc::clone(&mailbox), received));
    mailbox.send(Msg::Quit);
    let drawn = shown.join();
    drop(diverted);
    match drawn {
        Ok(drawn) => drawn?,
        Err(_) => bail!("the screen failed; continue the session with `jm resume`"),
    }
    match worked? {
        Left::Demo => demo::run(),
        Left::Session(session) => {
            print::note(&format!("Session {session}; continue with: jm resume {session}"));
            Ok(exit::RAN)
        }
        Left::Nothing => Ok(exit::RAN),
    }
}
