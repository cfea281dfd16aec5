//! The confinement of a tool server: a program that others wrote and that stays for a session.
//!
//! Law: by default it reads the workspace, writes nothing of it and has no network. Where nothing confines it,
//! it is not started, unless the person has chosen that for commands too.

use std::ffi::OsString;
use std::path::PathBuf;

use jm_files::Sandbox;
use jm_types::ToolError;

use super::confiner::Confiner;
use super::plan::{CommandSettings, ConfinementPlan};
use crate::contract::confinement_rules::{Backend, ConfinementRules, Network};
use crate::contract::within::is_within;
use crate::outside::launcher::Confinement;
use crate::outside::program::CommandProgram;

/// The rights of one server besides reading the workspace and the system's programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerGrant {
    /// The hosts that the server may reach.
    pub network: Network,
    /// Directories it may write; a root of the workspace makes that root writable.
    pub writable: Vec<PathBuf>,
    /// Files and directories that its command names.
    pub readable: Vec<PathBuf>,
}

impl Confiner {
    /// The confinement of a tool server, and the gaps that it leaves.
    pub fn serving(
        &self,
        sandbox: &Sandbox,
        environment: &[(OsString, OsString)],
        program: &CommandProgram,
        grant: &ServerGrant,
    ) -> Result<(Confinement, Vec<String>), ToolError> {
        let is_chosen = self.settings().backend == Some(Backend::None);
        if self.backend() == Backend::None && !is_chosen {
            let what = "not started: nothing on this machine can confine a tool server";
            let hint = "see `jm doctor`; to run it unconfined: `tools.sandbox.commands.backend = \"none\"`";
            return Err(ToolError::failed("mcp", what).hint(hint));
        }
        let exceptions = &self.settings().exceptions;
        let network = match grant.network.clone() {
            // Every host but some is nothing that can be held.
            Network::On if !exceptions.is_empty() => {
                let what = "not started: `network = \"on\"` cannot leave out the hosts that rules ask about or deny";
                let hint = "list the hosts that the server may reach, or remove these rules (`jm policy list`)";
                return Err(ToolError::failed("mcp", what).hint(hint));
            }
            Network::Listed(list) => Network::Listed(list.except(exceptions.clone())),
            network @ (Network::On | Network::Off) => network,
        };
        let settings = CommandSettings {
            network,
            writable: grant.writable.clone(),
            ..self.settings().clone()
        };
        let plain = self.with_settings(settings, self.reader_access());
        let ConfinementPlan { rules, gaps } = plain.plan(sandbox, environment);
        Ok((self.confined_by(read_mostly(rules, sandbox, grant), program, None), gaps))
    }
}

/// Takes the right to write the roots away where it is not granted.
fn read_mostly(
    mut rules: ConfinementRules,
    sandbox: &Sandbox,
    grant: &ServerGrant,
) -> ConfinementRules {
    let is_granted = |root: &PathBuf| grant.writable.iter().any(|path| is_within(root, path));
    let roots: Vec<PathBuf> = sandbox.roots().map(|root| root.path().to_owned()).collect();
    let only_read: Vec<PathBuf> = roots.into_iter().filter(|root| !is_granted(root)).collect();
    rules.writable.retain(|path| !only_read.contains(path));
    // What cannot be written needs no placeholder, and none is made.
    let writable = rules.writable.clone();
    let can_write = |path: &PathBuf| writable.iter().any(|root| is_within(path, root));
    rules.kept.retain(|kept| can_write(&kept.path));
    rules.absent.retain(|path| can_write(path));
    rules.readable.extend(only_read);
    rules.readable.extend(grant.readable.iter().cloned());
    rules
}
