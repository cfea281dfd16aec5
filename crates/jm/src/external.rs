//! Executables as tools: from where they come, and how they join the others (IK-DIRS).
//!
//! Law: where there are no directories, this costs three looks and nothing else.

use std::time::Duration;

use jm_config::Config;
use jm_tools::Workspace;
use jm_tools::foreign::external::{
    Candidate, Consent, Directory, Discovered, ExternalTools, Ground, ToolPlace, discover,
};

use crate::locations;
use crate::project::Project;

/// The tools that are there; nothing is run.
pub(crate) fn discovered(project: Option<&Project>) -> Discovered {
    discover(&directories(project))
}

/// The directories of tools, in rising priority.
fn directories(project: Option<&Project>) -> Vec<Directory> {
    let owned = |place, path| Directory { place, path, consent: Consent::Owner };
    let system = locations::system_tools().map(|path| owned(ToolPlace::System, path));
    let user = locations::user_tools().map(|path| owned(ToolPlace::User, path));
    let project = project.map(|project| Directory {
        place: ToolPlace::Project,
        path: project.tools.clone(),
        consent: project.trusted.clone().map_or(Consent::Missing, Consent::Bytes),
    });
    [system, user, project].into_iter().flatten().collect()
}

/// The names of the tools that a project brings.
pub(crate) fn of_project(project: &Project) -> Vec<String> {
    let is_own = |candidate: &Candidate| candidate.place == ToolPlace::Project;
    let all = discovered(Some(project)).candidates.into_iter();
    all.filter(|(_, candidates)| candidates.iter().any(is_own)).map(|(name, _)| name).collect()
}

/// The tools of all directories, also of those that come while the program runs.
pub(crate) fn source(
    config: &Config,
    workspace: &Workspace,
    project: Option<&Project>,
) -> ExternalTools {
    let settings = &config.tools.external;
    ExternalTools::new(
        directories(project),
        Ground {
            workspace: workspace.clone(),
            patience: Duration::from_secs(settings.schema_seconds),
            // Without a place to remember them, schemas are asked for each time.
            memory: || locations::state().ok()?.subdirectory("schemas").ok(),
            read_only: settings.read_only.iter().cloned().collect(),
        },
    )
}
