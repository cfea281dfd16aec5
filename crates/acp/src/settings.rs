//! The settings of a session that a client can change: approval mode and model.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};

/// One mode that a client may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeChoice {
    /// The word by which a client chooses it.
    pub id: &'static str,
    /// A heading for people.
    pub name: &'static str,
    /// An explanation for people.
    pub description: &'static str,
}

/// The choices of a session, and which of them are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChoices {
    /// The modes on offer.
    pub modes: Vec<ModeChoice>,
    /// The id of the mode in force.
    pub mode: &'static str,
    /// The models on offer, as `PROVIDER/NAME`.
    pub models: Vec<String>,
    /// The model in force; empty where none is configured.
    pub model: String,
}

/// The modes, as `session/new` tells them.
pub fn mode_state(choices: &SettingChoices) -> SessionModeState {
    let mode = |mode: &ModeChoice| {
        SessionMode::new(mode.id, mode.name).description(mode.description.to_owned())
    };
    SessionModeState::new(choices.mode, choices.modes.iter().map(mode).collect())
}

/// The same as configuration options, with the model.
pub fn config_options(choices: &SettingChoices) -> Vec<SessionConfigOption> {
    let mode = |mode: &ModeChoice| {
        SessionConfigSelectOption::new(mode.id, mode.name).description(mode.description.to_owned())
    };
    let modes: Vec<SessionConfigSelectOption> = choices.modes.iter().map(mode).collect();
    let model = |name: &String| SessionConfigSelectOption::new(name.clone(), name.clone());
    let mut models: Vec<SessionConfigSelectOption> = choices.models.iter().map(model).collect();
    if !choices.models.contains(&choices.model) {
        let name = if choices.model.is_empty() { "none configured" } else { &choices.model };
        models.insert(0, SessionConfigSelectOption::new(choices.model.clone(), name));
    }
    vec![
        SessionConfigOption::select("mode", "Approval", choices.mode, modes)
            .category(SessionConfigOptionCategory::Mode),
        SessionConfigOption::select("model", "Model", choices.model.clone(), models)
            .category(SessionConfigOptionCategory::Model),
    ]
}
