//! Executables as tools (IK-PROTO, IK-DIRS).
//!
//! Law: finding them costs a look into directories. Each is asked for its schema when it is first
//! needed, and its answer is remembered by the bytes of the program, so that a start never waits for
//! tools that nobody calls. Every listing looks anew, so a tool that came since is there.

mod call;
mod discover;
mod envelope;
mod probe;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jm_system::programs;
use jm_system::state::StateDir;
use jm_types::{Digest, ToolError};

use crate::context::Workspace;
use crate::registered::Registered;
use crate::source::{Listed, Origin, ToolSource};
use call::{Declared, ExternalTool, TrustedProgram};
pub use discover::{Candidate, Consent, Directory, Discovered, ToolFault, ToolPlace, discover};
use envelope::{Code, not_ready};

/// The most programs that are asked at the same time.
const ASKED_TOGETHER: usize = 8;

/// The ground for asking and running programs.
#[derive(Debug)]
pub struct Ground {
    /// The ground that programs run on.
    pub workspace: Workspace,
    /// The longest that a program may take to print its schema.
    pub patience: Duration,
    /// The directory of remembered answers; made when there is one.
    pub memory: fn() -> Option<StateDir>,
    /// Tools of which the person says that they change nothing.
    pub read_only: BTreeSet<String>,
}

/// The executables of the system, the person and the project.
#[derive(Debug)]
pub struct ExternalTools {
    ground: Ground,
    directories: Vec<Directory>,
    known: Mutex<Known>,
}

/// The candidates of the last look, by name.
type Known = BTreeMap<String, Vec<Arc<Slot>>>;

/// A candidate, and what came of asking it.
#[derive(Debug)]
struct Slot {
    candidate: Candidate,
    answer: OnceLock<Result<Arc<Registered>, ToolError>>,
}

impl ExternalTools {
    /// The tools of directories that are given in rising priority.
    pub fn new(directories: Vec<Directory>, ground: Ground) -> Self {
        let tools = Self { ground, directories, known: Mutex::default() };
        tools.look();
        tools
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks into the directories again. A file that is still the same keeps its answer.
    fn look(&self) -> Known {
        let found = discover(&self.directories).candidates;
        let mut known = self.known();
        let slots = |(name, candidates): (String, Vec<Candidate>)| {
            let old = known.get(&name).map(Vec::as_slice).unwrap_or_default();
            let slot = |candidate: Candidate| {
                let same = old.iter().find(|slot| slot.candidate == candidate).cloned();
                same.unwrap_or_else(|| Arc::new(Slot { candidate, answer: OnceLock::new() }))
            };
            let slots: Vec<Arc<Slot>> = candidates.into_iter().map(slot).collect();
            (name, slots)
        };
        let now: Known = found.into_iter().map(slots).collect();
        known.clone_from(&now);
        now
    }

    /// The names that have a candidate of that kind.
    fn names_where(&self, is_meant: impl Fn(&Slot) -> bool) -> Vec<String> {
        let known = self.known();
        let meant = known.iter().filter(|(_, slots)| slots.iter().any(|slot| is_meant(slot)));
        meant.map(|(name, _)| name.clone()).collect()
    }

    fn answer(&self, name: &str, slot: &Slot) -> Result<Arc<Registered>, ToolError> {
        let answer = slot.answer.get_or_init(|| {
            // A panic of ours on one program's words must not take the others along.
            let met = catch_unwind(AssertUnwindSafe(|| self.meet(name, &slot.candidate)));
            let lost =
                |_| Err(not_ready(name, "its schema could not be understood", "report this"));
            met.unwrap_or_else(lost).map(Arc::new)
        });
        answer.clone()
    }

    /// From a file to a tool.
    fn meet(&self, name: &str, candidate: &Candidate) -> Result<Registered, ToolError> {
        if let Some(fault) = &candidate.fault {
            return Err(not_ready(name, &fault.message, &fault.hint));
        }
        let path = &candidate.path;
        let faulty = |what: String| {
            let why = format!("{} --schema {what}", path.display());
            let hint = format!(
                "it must print one JSON object within {} s (`tools.external.schema_seconds`)",
                self.ground.patience.as_secs_f64()
            );
            not_ready(name, &why, &hint)
        };
        let program = TrustedProgram::of(candidate);
        program.check_bytes(name)?;
        // A program that cannot be read may still be run; its answer is then not remembered.
        let digest = programs::digest_program(path, call::MOST_HASHED).ok().flatten();
        if let Some(known) = digest.and_then(|digest| self.remembered(name, candidate, digest)) {
            return Ok(known);
        }
        let ground = &self.ground;
        let text = probe::ask(&ground.workspace, path, ground.patience).map_err(faulty)?;
        let tool = self.tool(name, candidate, &text).map_err(faulty)?;
        if let (Some(memory), Some(digest)) = ((ground.memory)(), digest) {
            // What cannot be remembered is asked again.
            memory.write(&file_name(digest), text.as_bytes()).unwrap_or_default();
        }
        Ok(tool)
    }

    fn remembered(&self, name: &str, candidate: &Candidate, digest: Digest) -> Option<Registered> {
        let most = probe::MOST_BYTES as u64;
        let text = (self.ground.memory)()?.read(&file_name(digest), most).ok()??;
        self.tool(name, candidate, &text).ok()
    }

    fn tool(&self, name: &str, candidate: &Candidate, text: &str) -> Result<Registered, String> {
        let is_read_only = self.ground.read_only.contains(name);
        let declared = if is_read_only { Declared::ReadOnly } else { Declared::Nothing };
        let schema = probe::parse(text)?;
        let tool = ExternalTool::new(name, candidate, schema, declared);
        let tool = Registered::new(Box::new(tool));
        match tool.check() {
            Ok(()) => Ok(tool),
            Err(error) => {
                Err(format!("printed `parameters` that are not a schema: {}", error.message))
            }
        }
    }

    /// Asks everybody who was not asked yet, a few at a time.
    fn ask_all(&self, known: &Known) {
        let left: Vec<(&String, &Arc<Slot>)> = known
            .iter()
            .flat_map(|(name, slots)| slots.iter().map(move |slot| (name, slot)))
            .filter(|(_, slot)| slot.answer.get().is_none())
            .collect();
        let next = AtomicUsize::new(0);
        let ask = || {
            while let Some((name, slot)) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                // What came of it is in the slot.
                drop(self.answer(name, slot));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..left.len().min(ASKED_TOGETHER) {
                // With fewer threads it takes longer.
                drop(std::thread::Builder::new().spawn_scoped(scope, ask));
            }
            ask();
        });
    }
}

impl ToolSource for ExternalTools {
    fn names(&self) -> Vec<String> {
        self.known().keys().cloned().collect()
    }

    fn ready_names(&self) -> Vec<String> {
        self.names_where(|slot| matches!(slot.answer.get(), Some(Ok(_))))
    }

    fn unasked_names(&self) -> Vec<String> {
        self.names_where(|slot| slot.candidate.fault.is_none() && slot.answer.get().is_none())
    }

    fn in_own_words(&self, name: &str, refusal: ToolError) -> ToolError {
        if self.known().contains_key(name) {
            return call::in_envelope(refusal, Code::PermissionDenied);
        }
        refusal
    }

    /// The first candidate that can be used; if none can, why the first cannot. A name that is not
    /// known may have come since.
    fn find(&self, name: &str) -> Option<Result<Arc<Registered>, ToolError>> {
        let known = self.known().get(name).cloned();
        let slots = known.or_else(|| self.look().remove(name))?;
        let mut fault = None;
        for slot in &slots {
            match self.answer(name, slot) {
                Ok(tool) => return Some(Ok(tool)),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        fault.map(Err)
    }

    fn forget(&self) -> Result<(), ToolError> {
        self.known().clear();
        let forgotten = (self.ground.memory)().as_ref().map_or(Ok(()), StateDir::clear);
        forgotten.map_err(|error| ToolError::io("the remembered schemas", error))
    }

    /// The tool in force, and the faults of those before it.
    fn listing(&self) -> Vec<Listed> {
        let known = self.look();
        self.ask_all(&known);
        let mut all = Vec::new();
        for (name, slots) in &known {
            let (mut usable, mut faulty) = (Vec::new(), Vec::new());
            for slot in slots {
                let Candidate { place, path, .. } = &slot.candidate;
                let origin = Origin::File { place: place.word(), path: path.clone() };
                let tool = self.answer(name, slot);
                let listed = Listed { name: name.clone(), origin, tool };
                if listed.tool.is_ok() { &mut usable } else { &mut faulty }.push(listed);
            }
            usable.truncate(1);
            all.extend(usable.into_iter().chain(faulty));
        }
        all
    }
}

fn file_name(digest: Digest) -> String {
    format!("{digest}.json")
}

#[cfg(test)]
mod tests;
