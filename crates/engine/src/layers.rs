//! The layers of an engine's commands: where they lie, whether they work here, and the steps of each.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use jm_files::layer::{LayerStep, StepState};
use jm_process::Confiner;
use jm_process::command_layers::CommandLayers;
use jm_process::held::HeldLayer;
use jm_store::{LayerRecord, LayerSide, Store, StoreError};
use jm_types::{CallKey, Digest, ignore_error};

use crate::threads_ahead::ThreadsAhead;

/// The choice whether commands run on layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerUse {
    /// Never.
    Off,
    /// On layers as far as these work; elsewhere directly, which is said.
    WhereTheyWork,
    /// Always; where they do not work a command is refused.
    Always,
}

/// The layers of an engine's commands.
#[derive(Debug)]
pub struct EngineLayers {
    /// `None` without a state directory.
    place: Option<CommandLayers>,
    wanted: LayerUse,
    /// Commands of one message run at the same time, each on its own layer.
    side_by_side: bool,
    works: OnceLock<Result<(), String>>,
    /// It was said that commands run directly.
    is_said: AtomicBool,
    /// Layers without changes, for the next commands.
    spare: Mutex<SpareLayers>,
    /// Held layers about which a question is open: they are ours until it is answered.
    asked: Mutex<BTreeMap<String, HeldLayer>>,
    /// Threads that find out or make what the next commands need.
    ahead: Mutex<ThreadsAhead>,
}

/// Layers in which nothing was changed: making and removing their files takes the disk longer than a short command runs.
#[derive(Debug, Default)]
struct SpareLayers {
    /// Those whose commands have ended.
    returned: Vec<HeldLayer>,
    /// Those that are ready for other commands.
    ready: Vec<HeldLayer>,
}

/// More commands at once than this make layers of their own.
const MOST_SPARE: usize = 8;

impl EngineLayers {
    /// Layers in a state directory, to be used as wanted.
    pub fn new(place: CommandLayers, wanted: LayerUse) -> Self {
        let mut layers = Self::none();
        (layers.place, layers.wanted) = (Some(place), wanted);
        layers
    }

    /// With commands of one message side by side, or one after another.
    #[must_use]
    pub fn side_by_side(mut self, side_by_side: bool) -> Self {
        self.side_by_side = side_by_side;
        self
    }

    /// No layers at all.
    pub fn none() -> Self {
        Self {
            place: None,
            wanted: LayerUse::Off,
            side_by_side: false,
            works: OnceLock::new(),
            is_said: AtomicBool::new(false),
            spare: Mutex::default(),
            asked: Mutex::default(),
            ahead: Mutex::default(),
        }
    }

    /// The person's wish.
    pub fn wanted(&self) -> LayerUse {
        self.wanted
    }

    pub(crate) fn runs_side_by_side(&self) -> bool {
        self.side_by_side && self.wanted != LayerUse::Off
    }

    /// Tells, the first time only, to say that commands run directly.
    pub(crate) fn says_direct(&self) -> bool {
        !self.is_said.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn place(&self) -> Option<&CommandLayers> {
        self.place.as_ref()
    }

    /// Keeps a held layer from other processes while its question is open.
    pub(crate) fn ask_about(&self, layer: HeldLayer) {
        self.asked().insert(layer.id().to_owned(), layer);
    }

    /// The same once more, after an answer that could not be carried out.
    pub(crate) fn ask_again(&self, id: &str) {
        if let Ok(layer) = self.take_held(id) {
            self.ask_about(layer);
        }
    }

    /// Leaves the held layers to whoever decides about them, but for those whose questions are open.
    pub(crate) fn leave_held(&self, is_open: impl Fn(&str) -> bool) {
        self.asked().retain(|id, _| is_open(id));
    }

    /// Takes a held layer, the question about which is answered.
    pub(crate) fn take_held(&self, id: &str) -> std::io::Result<HeldLayer> {
        if let Some(layer) = self.asked().remove(id) {
            return Ok(layer);
        }
        self.place.as_ref().ok_or(ErrorKind::NotFound)?.held().take(id)
    }

    /// Removes a held layer.
    pub(crate) fn forget_held(&self, id: &str) -> std::io::Result<()> {
        if let Some(layer) = self.asked().remove(id) {
            return layer.remove();
        }
        self.place.as_ref().ok_or(ErrorKind::NotFound)?.held().forget(id)
    }

    fn asked(&self) -> MutexGuard<'_, BTreeMap<String, HeldLayer>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back a layer in which nothing was changed.
    pub(crate) fn give_back(&self, layer: HeldLayer) {
        self.spare().returned.push(layer);
    }

    /// Tells whether one was given back that is not ready for another command yet.
    pub(crate) fn has_returned(&self) -> bool {
        !self.spare().returned.is_empty()
    }

    /// Makes the layers that were given back ready for the next commands.
    pub(crate) fn prepare_spare(&self) {
        let (returned, wanted) = {
            let mut spare = self.spare();
            let wanted = MOST_SPARE.saturating_sub(spare.ready.len());
            (std::mem::take(&mut spare.returned), wanted)
        };
        let made = recycled(returned, wanted);
        self.spare().ready.extend(made);
    }

    fn spare(&self) -> MutexGuard<'_, SpareLayers> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the layer of a call's command, of one that was given back where there is one.
    pub(crate) fn begin(
        &self,
        root: &Path,
        words: &[OsString],
        call: &CallKey,
    ) -> std::io::Result<HeldLayer> {
        let place = self.place.as_ref().ok_or(ErrorKind::NotFound)?;
        let spare = self.spare().ready.pop();
        let again = spare.and_then(|spare| place.begin_again(spare, root, words, call));
        again.map_or_else(|| place.begin(root, words, call), Ok)
    }

    pub(crate) fn ahead(&self) -> MutexGuard<'_, ThreadsAhead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says why commands cannot run on layers of this root, if they cannot; found out once.
    pub(crate) fn work(&self, confiner: &Confiner, root: &Path) -> Result<(), &str> {
        let Some(place) = &self.place else { return Err("no state directory") };
        let found = self.works.get_or_init(|| confiner.try_layer(root, place.held()));
        found.as_ref().copied().map_err(String::as_str)
    }
}

impl Drop for EngineLayers {
    fn drop(&mut self) {
        let spare = self.spare.get_mut().unwrap_or_else(PoisonError::into_inner);
        let SpareLayers { returned, ready } = std::mem::take(spare);
        returned.into_iter().chain(ready).for_each(remove);
    }
}

fn recycled(returned: Vec<HeldLayer>, wanted: usize) -> Vec<HeldLayer> {
    let mut made = Vec::new();
    for layer in returned {
        if made.len() < wanted {
            made.extend(CommandLayers::recycle(layer));
        } else {
            remove(layer);
        }
    }
    made
}

fn remove(layer: HeldLayer) {
    ignore_error(layer.remove(), "an empty layer that stays is collected later");
}

/// The state in which every step is, once a layer is on this side.
pub(crate) fn state_on(side: LayerSide) -> StepState {
    match side {
        LayerSide::Kept => StepState::Done,
        LayerSide::TakenBack => StepState::NotDone,
    }
}

/// The steps of a recorded layer.
pub(crate) fn steps_of(store: &Store, record: &LayerRecord) -> Result<Vec<LayerStep>, StoreError> {
    Ok(serde_json::from_slice(&store.blob(record.steps)?)?)
}

/// The steps as they are stored, and their name.
pub(crate) fn packed(steps: &[LayerStep]) -> Result<(Digest, Vec<u8>), serde_json::Error> {
    let text = serde_json::to_vec(steps)?;
    Ok((Digest::of(&text), text))
}
