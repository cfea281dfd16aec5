//! Holding: the commands of a call run on layers of their own, and what they changed is decided about when all of
//! their processes have ended.
//!
//! Law: nothing that a held command changed counts before it is kept, and it is kept whole or not at all. Approval
//! before the command is approval to keep; names that make something run later need a person's word afterwards. What
//! is not kept is set aside, never thrown away.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jm_files::layer::{KeepError, LayerBounds, LayerReport, NameJudge, NodeChange};
use jm_process::command::FinishedCommand;
use jm_process::confine::{Backend, ConfinementRules, FileIdentity, LayerPlace};
use jm_process::held::HeldLayer;
use jm_store::{Record, Tracking};
use jm_system::worker::off_thread;
use jm_tools::{CommandHolder, CommandStart, HeldRun, NotKept, Prepared};
use jm_types::text::one_line;
use jm_types::{CallKey, ChangeWord, HeldChange, ToolError, ToolEvent, ignore_error};

use crate::batch::Batch;
use crate::call_turns::KeepTurn;
use crate::core::Core;
use crate::held::{conflicts, not_kept, some};
use crate::keep::keep_layer;
use crate::layer_diff::held_diff;
use crate::layer_stack::{LayerStack, StackState};
use crate::layers::LayerUse;

/// Names that a message lists.
const MOST_LISTED: usize = 5;

/// A layer that waits for a person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AwaitedLayer {
    /// The name under which it is held.
    pub(crate) layer: String,
    /// Why it is not kept yet, and where it is.
    pub(crate) not_kept: NotKept,
    /// Facts that a person has to know of it, the most important first.
    pub(crate) warnings: Vec<String>,
    /// All that it changed.
    pub(crate) preview: Option<String>,
    /// The names that it changed, which can be kept one by one.
    pub(crate) changes: Vec<HeldChange>,
}

impl AwaitedLayer {
    /// One that nobody is asked about.
    pub(crate) fn decided(not_kept: NotKept) -> Self {
        let layer = not_kept.layer.clone().unwrap_or_default();
        let (warnings, changes) = (Vec::new(), Vec::new());
        Self { layer, not_kept, warnings, preview: None, changes }
    }
}

/// The holder of one call's commands.
#[derive(Debug)]
pub(crate) struct CallHolder {
    core: Arc<Core>,
    key: CallKey,
    id: String,
    /// Set once the commands have ended and their changes are being decided about.
    is_settling: AtomicBool,
    /// Changes of its commands are in the workspace.
    has_kept: AtomicBool,
    awaited: Mutex<Option<AwaitedLayer>>,
    /// The layer of its changes that were set aside, without a question about them.
    set_aside: Mutex<Option<String>>,
    company: CommandCompany,
}

/// The other calls with which a call's commands run.
#[derive(Debug, Clone)]
pub(crate) enum CommandCompany {
    /// None: what the command changed is decided about when it has ended.
    None,
    /// Calls that run at the same time, and are kept in turn.
    Beside(KeepTurn),
    /// Calls that run one after another on one layer, which somebody else decides about.
    Stacked(Arc<LayerStack>),
}

/// The person's part in keeping a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepRule {
    /// Only names that something runs later are asked about.
    Approved,
    /// Everything is.
    Asks,
}

/// The decision about a layer whose commands have ended.
#[derive(Debug)]
pub(crate) enum SettledStack {
    /// Nothing is left to decide.
    Nothing,
    NotKept(NotKept),
    Asks(AwaitedLayer),
}

impl SettledStack {
    /// The layer that is not kept, or not yet.
    pub(crate) fn awaited(&self) -> Option<AwaitedLayer> {
        match self {
            Self::Nothing => None,
            Self::NotKept(not_kept) => Some(AwaitedLayer::decided(not_kept.clone())),
            Self::Asks(awaited) => Some(awaited.clone()),
        }
    }

    /// Tells whether a person is asked about it.
    pub(crate) fn is_question(&self) -> bool {
        matches!(self, Self::Asks(_))
    }
}

/// The ground on which a call's commands run.
pub(crate) enum CommandGround {
    Layers(Arc<CallHolder>),
    Workspace,
}

/// Chooses the ground of a call's commands, before any of them starts.
pub(crate) async fn ground_of(
    core: &Arc<Core>,
    prepared: Option<&dyn Prepared>,
    (key, id): (&CallKey, &str),
    company: CommandCompany,
) -> Result<CommandGround, ToolError> {
    let is_command = prepared.is_some_and(Prepared::is_command);
    if !is_command || core.layers.wanted() == LayerUse::Off {
        return Ok(CommandGround::Workspace);
    }
    match (work_here(core).await, core.layers.wanted()) {
        (Ok(()), _) => {
            Ok(CommandGround::Layers(Arc::new(CallHolder::new(core, (key, id), company))))
        }
        (Err(why), LayerUse::Always) => {
            let failed = format!("not run: the command cannot be held on a layer: {why}");
            let hint = "see `jm doctor`; tools.sandbox.commands.layer = \"auto\" runs commands directly where layers do not work";
            Err(ToolError::failed("command", failed).hint(hint))
        }
        (Err(why), LayerUse::Off | LayerUse::WhereTheyWork) => {
            // Who chose another back end knows that there are no layers.
            let chosen = core.workspace.confiner.settings().backend;
            let is_own_choice = chosen.is_some_and(|backend| backend != Backend::Namespaces);
            if !is_own_choice && core.layers.says_direct() {
                let text = format!("commands change the workspace directly here: {why}");
                core.announce(ToolEvent::Noticed { tool_call_id: id.to_owned(), text }).await;
            }
            Ok(CommandGround::Workspace)
        }
    }
}

/// Decides about the layer of calls that ran one after another; the last of them is the one that a person is asked at.
pub(crate) async fn settle_stack(
    core: &Arc<Core>,
    last: (&CallKey, &str),
    stack: Arc<LayerStack>,
) -> SettledStack {
    let holder = CallHolder::new(core, last, CommandCompany::None);
    let settled = off_thread(move || {
        let StackState { layer, known, trouble } = std::mem::take(&mut *stack.state());
        let Some(layer) = layer else { return SettledStack::Nothing };
        match (holder.settle(layer, known, trouble, KeepRule::Asks), holder.take_awaited()) {
            (Some(not_kept), _) => SettledStack::NotKept(not_kept),
            (None, Some(awaited)) => SettledStack::Asks(awaited),
            (None, None) => SettledStack::Nothing,
        }
    });
    settled.await.unwrap_or_else(|_| {
        let why = "what it changed could not be read".to_owned();
        let hint = "`jm recover` finds its layer".to_owned();
        SettledStack::NotKept(NotKept { why, hint, layer: None })
    })
}

/// The calls that run now: one, or the commands in a row that may run side by side.
pub(crate) async fn together(core: &Arc<Core>, batch: &Batch, index: usize) -> Vec<usize> {
    let commands = batch.commands_from(index);
    if batch.entries[index].is_new_effect() {
        return commands;
    }
    let is_wanted = commands.len() > 1 && core.layers.runs_side_by_side();
    if is_wanted && work_here(core).await.is_ok() { commands } else { vec![index] }
}

/// Says why commands cannot run on layers here, if they cannot.
pub(crate) async fn work_here(core: &Arc<Core>) -> Result<(), String> {
    let own = Arc::clone(core);
    let works = off_thread(move || works(&own)).await;
    works.unwrap_or_else(|_| Err("the probe failed".to_owned()))
}

pub(crate) fn works(core: &Core) -> Result<(), String> {
    let sandbox = &core.workspace.sandbox;
    if core.recorder.journal().is_none() {
        return Err("there is no journal to record the changes of a layer".to_owned());
    }
    if sandbox.roots().count() > 1 {
        return Err("the workspace has several roots, and a layer holds one".to_owned());
    }
    let root = sandbox.working_root().path();
    core.layers.work(&core.workspace.confiner, root).map_err(str::to_owned)
}

impl CallHolder {
    fn new(core: &Arc<Core>, (key, id): (&CallKey, &str), company: CommandCompany) -> Self {
        let (core, key, id) = (Arc::clone(core), key.clone(), id.to_owned());
        let (is_settling, has_kept) = (AtomicBool::new(false), AtomicBool::new(false));
        let (awaited, set_aside) = (Mutex::default(), Mutex::default());
        Self { core, key, id, is_settling, has_kept, awaited, set_aside, company }
    }

    /// Tells whether changes of its commands were kept.
    pub(crate) fn has_kept(&self) -> bool {
        self.has_kept.load(Ordering::Acquire)
    }

    /// Takes the layer of changes that were set aside without a question.
    pub(crate) fn take_set_aside(&self) -> Option<String> {
        self.set_aside.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the layer that waits for a person's word.
    pub(crate) fn take_awaited(&self) -> Option<AwaitedLayer> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn begin(&self, words: &[OsString]) -> Result<HeldLayer, ToolError> {
        let is_awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_awaited {
            return Err(failed("an earlier program of this call waits for a decision"));
        }
        let root = self.core.workspace.sandbox.working_root().path();
        self.core.layers.begin(root, words, &self.key).map_err(|error| {
            if root.is_dir() {
                return failed(format!("no layer: {error}"));
            }
            let name = root.display();
            failed(format!("{name} was moved, removed or replaced since the workspace was opened"))
        })
    }

    /// Decides about a layer whose command has ended; `None` where everything was kept.
    fn settle(
        &self,
        layer: HeldLayer,
        known: Vec<PathBuf>,
        trouble: Option<String>,
        rule: KeepRule,
    ) -> Option<NotKept> {
        let root = self.core.workspace.sandbox.working_root().path();
        let judge = NameJudge::new(root, known).with_upper(layer.upper());
        let report = match layer.layer().report(&judge, LayerBounds::default()) {
            Ok(report) => report,
            Err(error) => {
                return Some(self.set_aside(layer, format!("it cannot be read: {error}")));
            }
        };
        if report.is_empty() {
            self.core.layers.give_back(layer);
            return None;
        }
        if let Some(why) = trouble.or_else(|| conflicts(&report.plan.conflicts)) {
            return Some(self.set_aside(layer, why));
        }
        self.tell_refused(&report);
        match rule {
            KeepRule::Approved if report.runs_later.is_empty() => self.keep(layer, &report),
            KeepRule::Approved | KeepRule::Asks => self.ask(layer, &report, rule),
        }
    }

    fn keep(&self, layer: HeldLayer, report: &LayerReport) -> Option<NotKept> {
        match keep_layer(&self.core, &self.key, &layer, report) {
            Ok(()) => {
                self.has_kept.store(true, Ordering::Release);
                None
            }
            // The record leads back, and recovery needs the layer where it is.
            Err(error @ KeepError::Stuck { .. }) => Some(NotKept {
                why: error.to_string(),
                hint: "resolve it with `jm recover`".to_owned(),
                layer: None,
            }),
            Err(error) => Some(self.set_aside(layer, error.to_string())),
        }
    }

    /// Leaves the layer until a person has decided; the result of the command is that of one that was kept.
    fn ask(&self, layer: HeldLayer, report: &LayerReport, rule: KeepRule) -> Option<NotKept> {
        let names = report.runs_later.iter();
        let warnings = names.map(|(path, why)| format!("{}: {why}", shown(path))).collect();
        let listed: Vec<String> = report.runs_later.keys().map(|path| shown(path)).collect();
        let why = match rule {
            KeepRule::Approved => {
                format!(
                    "needs a decision: it changed files that other programs run later: {}",
                    some(&listed)
                )
            }
            KeepRule::Asks => "needs a decision: keep or drop its changes".to_owned(),
        };
        let changes = changes(report);
        let summary = summary(&changes);
        let preview = match rule {
            KeepRule::Approved => summary,
            KeepRule::Asks => summary + &held_diff(layer.layer(), report),
        };
        let (not_kept, held) = self.put_aside(layer, why);
        let Some(held) = held else { return Some(not_kept) };
        let (layer, preview) = (held.id().to_owned(), Some(preview));
        self.core.layers.ask_about(held);
        let awaited = AwaitedLayer { layer, not_kept, warnings, preview, changes };
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = Some(awaited);
        None
    }

    fn set_aside(&self, layer: HeldLayer, why: String) -> NotKept {
        self.put_aside(layer, why).0
    }

    fn put_aside(&self, layer: HeldLayer, why: String) -> (NotKept, Option<HeldLayer>) {
        let upper = layer.upper();
        let place = self.core.layers.place();
        match place.map(|place| place.set_aside(layer)) {
            Some(Ok(held)) => (not_kept(why, held.id()), Some(held)),
            Some(Err(error)) => {
                let hint = format!("its versions are in {}: {error}", upper.display());
                (NotKept { why, hint, layer: None }, None)
            }
            None => (NotKept { why, hint: String::new(), layer: None }, None),
        }
    }

    /// Runs a command on a layer that others have run on, and leaves the layer undecided.
    fn hold_on(
        &self,
        stack: &LayerStack,
        (words, known): (&[OsString], Vec<PathBuf>),
        rules: ConfinementRules,
        start: CommandStart<'_>,
    ) -> Result<HeldRun, ToolError> {
        let before = stack.state().layer.take();
        let layer = match before {
            Some(layer) => layer
                .renew()
                .map(|()| layer)
                .map_err(|error| failed(format!("no layer: {error}")))?,
            None => self.begin(words)?,
        };
        let place = layer.place().map_err(|error| failed(format!("no layer: {error}")));
        // What nobody has approved yet reaches no process of the session.
        let outcome = place.and_then(|place| start(rules.alone().on_layer(place)));
        let mut state = stack.state();
        state.trouble = state.trouble.take().or_else(|| trouble(outcome.as_ref().ok()));
        state.layer = Some(layer);
        state.known = known;
        Ok(HeldRun { finished: outcome?, not_kept: None })
    }

    /// Records that nobody will know what the command changes in some directories.
    fn record_gap(&self, gap: Option<Tracking>) -> Result<(), ToolError> {
        let Some(tracking) = gap else { return Ok(()) };
        self.core.recorder.records(vec![Record::Tracked { call: self.key.clone(), tracking }])
    }

    /// Tells of what is never kept.
    fn tell_refused(&self, report: &LayerReport) {
        for node in report.plan.refused.iter().take(MOST_LISTED) {
            let text = format!("not kept: {}: {}", shown(&node.path), node.why.in_words());
            let event = ToolEvent::Noticed { tool_call_id: self.id.clone(), text };
            ignore_error(
                self.core.events.try_send(event),
                "a face that does not listen is no error",
            );
        }
    }
}

impl CommandHolder for CallHolder {
    fn is_settling(&self) -> bool {
        self.is_settling.load(Ordering::Acquire)
    }

    fn hold(
        &self,
        words: &[OsString],
        rules: ConfinementRules,
        start: CommandStart<'_>,
    ) -> Result<HeldRun, ToolError> {
        if rules.backend != Backend::Namespaces {
            return Err(failed("layers need namespaces, and the command would have none"));
        }
        let known = rules.protected().cloned().collect();
        if let CommandCompany::Stacked(stack) = &self.company {
            return self.hold_on(stack, (words, known), rules, start);
        }
        let layer = self.begin(words)?;
        let mut place = layer.place().map_err(|error| failed(format!("no layer: {error}")))?;
        place.direct = self.core.workspace.confiner.direct_directories(&place.root.path);
        let gap = direct_gap(&place);
        self.record_gap(gap.clone().map(|gap| Tracking { is_ahead: true, ..gap }))?;
        let outcome = start(rules.on_layer(place));
        self.is_settling.store(true, Ordering::Release);
        let has_turn = match &self.company {
            CommandCompany::Beside(turn) => {
                // The calls before it touch directories when they are kept.
                let remembered = layer.layer().remember_attributes();
                ignore_error(remembered, "what cannot be read now is not kept later either");
                turn.come()
            }
            CommandCompany::None | CommandCompany::Stacked(_) => true,
        };
        let not_kept = if has_turn {
            self.settle(layer, known, trouble(outcome.as_ref().ok()), KeepRule::Approved)
        } else {
            Some(self.set_aside(layer, "the call was given up before its command ended".to_owned()))
        };
        let left = not_kept.as_ref().and_then(|not_kept| not_kept.layer.clone());
        *self.set_aside.lock().unwrap_or_else(PoisonError::into_inner) = left;
        // Once more, because what is kept has a record that names other paths only.
        ignore_error(self.record_gap(gap), "the next write fails too, and says so");
        self.is_settling.store(false, Ordering::Release);
        match (outcome, not_kept) {
            (Ok(finished), not_kept) => Ok(HeldRun { finished, not_kept }),
            (Err(error), None) => Err(error),
            (Err(error), Some(not_kept)) => Err(error.hint(not_kept.hint)),
        }
    }
}

/// The directories of which it is not known what a command changes there.
fn direct_gap(place: &LayerPlace) -> Option<Tracking> {
    let name = |direct: &FileIdentity| {
        let name = direct.path.strip_prefix(&place.root.path).unwrap_or(&direct.path);
        format!("{}/", shown(name))
    };
    let names: Vec<String> = place.direct.iter().map(name).collect();
    let gap = || format!("{}: changed directly (tools.sandbox.commands.direct)", names.join(", "));
    (!names.is_empty()).then(|| Tracking { gap: Some(gap()), ..Tracking::default() })
}

/// The reason why nothing of a command can be kept, however it changed.
fn trouble(finished: Option<&FinishedCommand>) -> Option<String> {
    match finished {
        None => Some("the command did not end in an orderly way".to_owned()),
        Some(finished) if !finished.unended.is_empty() => {
            Some("processes of the command still run".to_owned())
        }
        Some(_) => None,
    }
}

fn failed(message: impl Into<String>) -> ToolError {
    ToolError::failed("command", message)
}

/// The names that a layer changes, as a question shows them and an answer names them.
fn changes(report: &LayerReport) -> Vec<HeldChange> {
    let shown = report.shown().map(|(step, change, inside)| HeldChange {
        path: match shown(&step.path) {
            root if root.is_empty() => ".".to_owned(),
            path => path,
        },
        change: match change {
            NodeChange::Created => ChangeWord::Created,
            NodeChange::Changed => ChangeWord::Changed,
            NodeChange::Deleted => ChangeWord::Deleted,
        },
        inside,
    });
    shown.collect()
}

/// The changes as lines, every one, numbered as an answer may name them: who keeps them has to have seen them.
fn summary(changes: &[HeldChange]) -> String {
    let line = |(at, change): (usize, &HeldChange)| format!("{}. {}\n", at + 1, change.in_words());
    changes.iter().enumerate().map(line).collect()
}

fn shown(path: &std::path::Path) -> String {
    one_line(&path.to_string_lossy())
}
