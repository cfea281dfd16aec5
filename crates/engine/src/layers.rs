//! The layers of an engine's commands: where they lie, whether they work here, and the steps of each.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jm_files::layer::{LayerStep, StepState};
use jm_process::Confiner;
use jm_process::command_layers::CommandLayers;
use jm_store::{LayerRecord, LayerSide, Store, StoreError};
use jm_types::Digest;

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
}

impl EngineLayers {
    /// Layers in a state directory, to be used as wanted.
    pub fn new(place: CommandLayers, wanted: LayerUse) -> Self {
        Self { place: Some(place), wanted, ..Self::none() }
    }

    /// With commands of one message side by side, or one after another.
    #[must_use]
    pub fn side_by_side(self, side_by_side: bool) -> Self {
        Self { side_by_side, ..self }
    }

    /// No layers at all.
    pub fn none() -> Self {
        let (works, is_said) = (OnceLock::new(), AtomicBool::new(false));
        Self { place: None, wanted: LayerUse::Off, side_by_side: false, works, is_said }
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

    /// Says why commands cannot run on layers of this root, if they cannot; found out once.
    pub(crate) fn work(&self, confiner: &Confiner, root: &Path) -> Result<(), &str> {
        let Some(place) = &self.place else { return Err("no state directory") };
        let found = self.works.get_or_init(|| confiner.try_layer(root, place.held()));
        found.as_ref().copied().map_err(String::as_str)
    }
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
