//! The engine's side: opens the agent, runs turns, and hears the person meanwhile.
//!
//! Law: the agent is owned here. While a turn runs, only what needs no agent is obeyed; the rest waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jm_engine::SharedPolicy;
use jm_files::Sandbox;
use jm_policy::Policy;
use jm_process::background::Jobs;
use jm_process::confine::Backend;
use jm_tui::block::{self, Note, Waiting};
use jm_tui::editor::Completion;
use jm_tui::mailbox::Mailbox;
use jm_tui::msg::{Effect, Msg, Picking, TurnEnd as Ended};
use jm_tui::status::Status;
use jm_types::{ApprovalMode, SessionId};
use tokio::sync::mpsc::UnboundedReceiver;

use super::commands::{self, Next};
use super::pictures::Pictures;
use super::screen_link::{Desk, Shown};
use super::setup::{self, Setup};
use super::{Left, Start, listing};
use crate::agent::{Agent, Looks, TurnEnd};
use crate::cli::{Common, Model};
use crate::faces::interrupts::Interrupter;
use crate::faces::ps;

/// The parts needed to open an agent, and those that the conversation is about to hear.
pub(super) struct Talk {
    pub(super) common: Common,
    pub(super) model: Model,
    pub(super) desk: Arc<Desk>,
    orders: UnboundedReceiver<Effect>,
    /// Orders that came while they could not be obeyed.
    later: VecDeque<Effect>,
    /// The person's actions beside the conversation; the model hears of it with the next prompt.
    pub(super) beside: String,
    /// The messages of the next conversation stand on the screen already.
    pub(super) is_shown: bool,
    pictures: Arc<Pictures>,
    /// The parts of the open agent that serve while a turn has the rest.
    open: Option<Open>,
}

/// The shared parts of an open agent.
struct Open {
    session: SessionId,
    sandbox: Arc<Sandbox>,
    policy: SharedPolicy,
    jobs: Arc<Jobs>,
    status: Status,
}

/// Between two looks at the processes that run in the background; none is taken at rest while none runs.
const LOOK: Duration = Duration::from_secs(1);

/// A note that something else in the program wrote.
pub(super) fn tell(mailbox: &Mailbox, text: &str) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let (text, hint) = match text.split_once("\n  hint: ") {
        Some((text, hint)) => (text, Some(hint.to_owned())),
        None => (text, None),
    };
    let text = text.strip_prefix("jm: ").unwrap_or(text).to_owned();
    mailbox.send(Msg::Note(Note { hint, ..Note::warning(text) }));
}

fn failed(error: &anyhow::Error) -> Note {
    let text = format!("{error:#}");
    match text.split_once("\n  hint: ") {
        Some((text, hint)) => Note::error(text).hint(hint),
        None => Note::error(text),
    }
}

/// Until the person quits; the session that can be resumed.
pub(super) async fn run(
    start: Start,
    mailbox: Arc<Mailbox>,
    orders: UnboundedReceiver<Effect>,
) -> Result<Left> {
    let desk = Arc::new(Desk::new(mailbox));
    let common = start.common;
    let later = start.prompt.map(Effect::Submit).into_iter().collect();
    let (model, beside, pictures) = (start.model, String::new(), Arc::default());
    let (is_shown, open) = (false, None);
    let mut talk = Talk { common, model, desk, orders, later, beside, is_shown, pictures, open };
    talk.desk.send(Msg::History(listing::history()));
    match setup::model(&mut talk).await? {
        Setup::Ready => {}
        Setup::Quit => return Ok(Left::Nothing),
        Setup::Demo => return Ok(Left::Demo),
    }
    let mut opened = talk.open().await;
    // A fork from before the first prompt is empty; then the conversation before it can be continued.
    let mut kept = None;
    loop {
        let (agent, next) = match opened {
            Ok(None) => return Ok(Left::Nothing),
            Ok(Some(mut agent)) => {
                let next = talk.converse(&mut agent).await;
                (Some(agent), next)
            }
            Err(error) => {
                talk.desk.note(failed(&error));
                (None, talk.without_agent().await)
            }
        };
        let session = agent.as_ref().and_then(|agent| {
            let is_kept = !agent.conversation.messages().is_empty() && !talk.common.no_journal;
            is_kept.then(|| agent.driver.session.id.clone())
        });
        kept = session.or(kept);
        if let Some(agent) = agent {
            agent.close().await?;
        }
        match next {
            Next::Quit => return Ok(kept.map_or(Left::Nothing, Left::Session)),
            Next::Stay => {}
            Next::Reopen(change) => change(&mut talk.common, &mut talk.model),
        }
        opened = talk.open().await;
    }
}

impl Talk {
    /// Opens the agent, with the person at hand for questions; nothing where they quit meanwhile.
    async fn open(&mut self) -> Result<Option<Agent>> {
        let (common, model) = (self.common.clone(), self.model.clone());
        let desk = Arc::clone(&self.desk);
        let opening = Agent::open(&common, &model, Looks::Screen(&desk));
        let Some(agent) = self.meanwhile(opening, None).await else { return Ok(None) };
        let agent = agent?;
        let id = agent.driver.session.id.clone();
        self.common.session = Some(id.clone()).filter(|_| !self.common.no_journal);
        let core = agent.driver.engine.core();
        let is_same = self.open.as_ref().is_some_and(|open| open.session == id);
        self.open = Some(Open {
            session: id,
            sandbox: Arc::clone(&core.workspace.sandbox),
            policy: core.policy.clone(),
            jobs: Arc::clone(&core.workspace.jobs),
            status: Status::default(),
        });
        self.show_status(&agent);
        match is_same || std::mem::take(&mut self.is_shown) {
            // What was said stands above already.
            true if !is_same => {}
            true => {
                let client = agent.client();
                self.desk.note(Note::info(format!(
                    "Model: {}/{}",
                    client.provider(),
                    client.model()
                )));
                self.show_waiting(&agent);
            }
            false => self.greet(&agent),
        }
        self.desk.send(Msg::Arguments { command: "approve", known: listing::modes() });
        self.desk.send(Msg::Arguments { command: "model", known: listing::models() });
        listing::resumable(&self.desk, &self.common);
        Ok(Some(agent))
    }

    fn greet(&self, agent: &Agent) {
        let status = status(&self.common, agent);
        let version = env!("CARGO_PKG_VERSION");
        self.desk.send(Msg::Lines(block::greeting(version, &status.model, &status.root)));
        let policy = agent.driver.engine.core().policy.now();
        let tool = commands::command_tool(agent).unwrap_or_default();
        if policy.opts_in(&tool) {
            let off = Note::info("Commands are not turned on in this project yet");
            self.desk.note(off.hint("the first one asks; or start with `--allow run_command`"));
        } else if tool.is_empty() || policy.denylist.contains(&tool) {
            let off = Note::info("Commands are off in this project");
            self.desk.note(off.hint("start with `--allow run_command` to enable them"));
        }
        for note in &agent.notes {
            self.desk.note(Note::info(note));
        }
        let said = agent.conversation.messages().len();
        if said > 0 {
            self.desk.note(Note::info(format!("Resumed: {said} messages")));
            if let Some(last) = listing::last_answer(agent) {
                self.desk.send(Msg::Markdown(last));
            }
        }
        self.show_waiting(agent);
    }

    pub(super) fn show_status(&mut self, agent: &Agent) {
        let status = status(&self.common, agent);
        self.desk.send(Msg::Status(Box::new(status.clone())));
        if let Some(open) = &mut self.open {
            open.status = status;
        }
    }

    /// Counts the processes of the session anew.
    fn look_at_processes(&mut self) {
        let Some(open) = &mut self.open else { return };
        let processes = ps::running_of(&open.jobs, &open.session).len();
        let published = ps::published_of(&open.jobs, &open.session);
        if (open.status.processes, &open.status.published) != (processes, &published) {
            open.status = Status { processes, published, ..open.status.clone() };
            self.desk.send(Msg::Status(Box::new(open.status.clone())));
        }
    }

    fn has_processes(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.status.processes > 0)
    }

    /// Changes the approval mode, while a turn runs too: it counts for the next call.
    pub(super) fn approve(&mut self, mode: ApprovalMode) {
        let Some(open) = &mut self.open else { return };
        let policy = Policy::clone(&open.policy.now());
        open.policy.replace(Policy { mode, ..policy });
        self.common.approve = Some(commands::flag_of(mode));
        open.status.approval = commands::mode_word(mode).to_owned();
        self.desk.send(Msg::Status(Box::new(open.status.clone())));
        self.desk.note(Note::info(format!("Approval {}", commands::mode_in_words(mode))));
    }

    /// prompt → auto → deny → prompt; effects is chosen by its name
    fn cycle_approval(&mut self) {
        let now = self.open.as_ref().map(|open| open.policy.now().mode);
        match now {
            Some(ApprovalMode::Prompt | ApprovalMode::Effects) => self.approve(ApprovalMode::Auto),
            Some(ApprovalMode::Auto) => self.approve(ApprovalMode::Deny),
            Some(ApprovalMode::Deny) => self.approve(ApprovalMode::Prompt),
            None => {}
        }
    }

    fn show_waiting(&self, agent: &Agent) {
        let waiting: Vec<Waiting> = agent
            .driver
            .session
            .batch()
            .waiting()
            .map(|entry| Waiting {
                id: entry.call.id.clone(),
                name: entry.call.name.clone(),
                arguments: entry.call.arguments.clone(),
            })
            .collect();
        let ids = waiting
            .iter()
            .map(|call| Completion { text: format!("{} ", call.id), note: call.name.clone() });
        self.desk.send(Msg::Arguments { command: "tool", known: ids.collect() });
        if !waiting.is_empty() {
            self.desk.send(Msg::Waiting(waiting));
        }
    }

    async fn converse(&mut self, agent: &mut Agent) -> Next {
        loop {
            let order = match self.later.pop_front() {
                Some(order) => Some(order),
                None => tokio::select! {
                    biased;
                    () = agent.driver.interrupts.next() => None,
                    order = self.orders.recv() => order,
                    () = tokio::time::sleep(LOOK), if self.has_processes() => {
                        self.look_at_processes();
                        continue;
                    }
                },
            };
            let Some(order) = order else { return Next::Quit };
            let next = self.obey(agent, order).await.unwrap_or_else(|error| {
                self.desk.send(Msg::TurnEnds(Ended::Failed(failed(&error))));
                Next::Stay
            });
            agent.driver.interrupts.forget();
            match next {
                Next::Stay => self.show_status(agent),
                other => return other,
            }
        }
    }

    async fn obey(&mut self, agent: &mut Agent, order: Effect) -> Result<Next> {
        match order {
            Effect::Submit(text) => return self.submit(agent, text).await,
            Effect::Shell(command) => commands::shell(self, agent, command).await?,
            Effect::Command { name: "approve", .. } => self.at_once(order, None),
            Effect::Command { name, rest } => {
                return commands::command(self, agent, name, &rest).await;
            }
            Effect::ListPrompts => listing::prompts(&self.desk, agent)?,
            Effect::Picked { what: Picking::Session, id } => return Ok(commands::resume(id)),
            Effect::Picked { what: Picking::Rewind, id } => {
                return commands::rewind(self, agent, &id).await;
            }
            Effect::Remember(text) => listing::remember(&text),
            Effect::Quit => return Ok(Next::Quit),
            other => self.at_once(other, None),
        }
        Ok(Next::Stay)
    }

    async fn submit(&mut self, agent: &mut Agent, text: String) -> Result<Next> {
        let beside = std::mem::take(&mut self.beside);
        self.desk.send(Msg::TurnBegins { prompt: text.clone() });
        let sandbox = &agent.driver.engine.core().workspace.sandbox;
        let parts = self.pictures.parts(&self.desk, sandbox, &format!("{beside}{text}"));
        let interrupter = agent.driver.interrupts.interrupter();
        let mut shown = Shown(Arc::clone(&self.desk));
        let turn = agent.turn(parts, &mut shown);
        let Some(end) = self.meanwhile(turn, Some(interrupter)).await else {
            return Ok(Next::Quit);
        };
        self.ends(agent, end?);
        Ok(Next::Stay)
    }

    /// Results for calls that wait (FR-MODE-02); with the last one the model goes on.
    pub(super) async fn supply(
        &mut self,
        agent: &mut Agent,
        id: &str,
        result: &str,
    ) -> Result<Next> {
        let interrupter = agent.driver.interrupts.interrupter();
        self.desk.send(Msg::TurnBegins { prompt: format!("/tool {id} {result}") });
        let mut shown = Shown(Arc::clone(&self.desk));
        let results = vec![(id.to_owned(), result.to_owned())];
        let turn = agent.supply(results, None, &mut shown);
        let Some(end) = self.meanwhile(turn, Some(interrupter)).await else {
            return Ok(Next::Quit);
        };
        self.ends(agent, end?);
        Ok(Next::Stay)
    }

    pub(super) fn ends(&self, agent: &Agent, end: TurnEnd) {
        let end = match end {
            TurnEnd::Finished => Ended::Finished,
            TurnEnd::Interrupted => Ended::Interrupted,
            TurnEnd::Waiting => Ended::Waiting,
            TurnEnd::Limit => Ended::Failed(
                Note::warning(agent.stopped())
                    .hint("send anything to continue, or raise --max-iterations"),
            ),
            TurnEnd::Failed(error) => {
                let note = Note::error(error.message);
                Ended::Failed(Note { hint: error.hint, ..note })
            }
        };
        let waits = end == Ended::Waiting;
        self.desk.send(Msg::TurnEnds(end));
        if waits {
            self.show_waiting(agent);
        }
    }

    /// Works, and hears the person meanwhile; nothing where they quit.
    pub(super) async fn meanwhile<T>(
        &mut self,
        work: impl Future<Output = T>,
        interrupter: Option<Interrupter>,
    ) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let mut quits = false;
        loop {
            tokio::select! {
                done = &mut work => return (!quits).then_some(done),
                () = tokio::time::sleep(LOOK) => self.look_at_processes(),
                order = self.orders.recv() => match order {
                    None | Some(Effect::Quit) => match &interrupter {
                        // What runs is stopped in order before we go.
                        Some(interrupter) if !quits => {
                            quits = true;
                            interrupter.interrupt();
                        }
                        Some(_) => {}
                        None => return None,
                    },
                    Some(order) => self.at_once(order, interrupter.as_ref()),
                },
            }
        }
    }

    /// Does what needs no agent; the rest waits.
    fn at_once(&mut self, order: Effect, interrupter: Option<&Interrupter>) {
        match order {
            Effect::Stop => interrupter.into_iter().for_each(Interrupter::interrupt),
            Effect::Answer(answer) => self.desk.answered(answer),
            Effect::Choose { question, choice } => self.desk.chosen(question, choice),
            Effect::Secret(secret) => self.desk.secret_given(secret),
            Effect::Remember(text) => listing::remember(&text),
            Effect::Attach(what) => self.pictures.attach(&self.desk, what),
            Effect::CycleApproval => self.cycle_approval(),
            Effect::Command { name: "approve", rest } => match commands::mode(&rest) {
                Ok(Some(mode)) => self.approve(mode),
                Ok(None) => {
                    commands::tell_mode(&self.desk, self.open.as_ref().map(|it| &it.policy))
                }
                Err(error) => self.desk.note(failed(&error)),
            },
            Effect::ListFiles => {
                if let Some(open) = &self.open {
                    listing::files(&self.desk, &open.sandbox);
                }
            }
            other => self.later.push_back(other),
        }
    }

    /// No agent could be opened: the person may choose another model or session.
    async fn without_agent(&mut self) -> Next {
        loop {
            let order = match self.later.pop_front() {
                Some(order) => Some(order),
                None => self.orders.recv().await,
            };
            match order {
                None | Some(Effect::Quit) => return Next::Quit,
                Some(Effect::Command { name: "model", rest }) if !rest.is_empty() => {
                    return commands::model(rest);
                }
                Some(Effect::Command { name: "clear", .. }) => return commands::clear(),
                Some(Effect::Picked { what: Picking::Session, id }) => return commands::resume(id),
                Some(Effect::Submit(_) | Effect::Command { .. } | Effect::Shell(_)) => {
                    let note = Note::warning("No model selected");
                    self.desk.note(note.hint("choose one: /model PROVIDER/NAME; quit: /exit"));
                }
                Some(other) => self.at_once(other, None),
            }
        }
    }
}

fn status(common: &Common, agent: &Agent) -> Status {
    let core = agent.driver.engine.core();
    let usage = agent.conversation.usage();
    let root = core.workspace.sandbox.working_root().path().to_owned();
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let shown = match home.and_then(|home| root.strip_prefix(home).map(|it| it.to_owned()).ok()) {
        Some(rest) => format!("~/{}", rest.display()).trim_end_matches('/').to_owned(),
        None => root.display().to_string(),
    };
    let approval = match (common.yes, core.policy.now().mode) {
        (true, _) => "yes to all",
        (false, mode) => commands::mode_word(mode),
    };
    Status {
        model: format!("{}/{}", agent.client().provider(), agent.client().model()),
        root: shown,
        confinement: match core.workspace.confiner.backend() {
            Backend::Namespaces | Backend::Bwrap | Backend::Landlock => "sandbox on".to_owned(),
            Backend::None => "no sandbox".to_owned(),
        },
        approval: approval.to_owned(),
        session: agent.driver.session.id.to_string(),
        context_percent: agent.context_percent(),
        tokens_in: usage.input + usage.cache_read + usage.cache_write,
        tokens_out: usage.output,
        tokens_cached: usage.cache_read,
        cost: agent.client().cost(&usage),
        processes: ps::running_of(&core.workspace.jobs, &agent.driver.session.id).len(),
        published: ps::published_of(&core.workspace.jobs, &agent.driver.session.id),
    }
}
