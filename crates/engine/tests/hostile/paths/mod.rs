//! Paths that lie about where they lead (PATH, SYM, HARD, SPEC, NAME).
//!
//! Law: a row is what is planted, a path, and what each tool must answer; every row runs through
//! every tool it names, under both ways of opening.

mod lexical;
mod links;
mod names;
mod roots;
mod single;
mod special;
mod toolsets;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use jm_files::{Dots, Opening, PathPolicy};
use jm_types::{ToolCall, ToolResult};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;

use crate::tree::{holding, tree};
use crate::world::{OPENINGS, Setting, World, quick_disk};

/// The content that a write puts into a file.
const MARK: &str = "written by the test";

#[derive(Debug, Clone)]
enum Plant {
    Directory(String),
    File(String),
    Link(String, String),
    /// A link whose text is bytes.
    RawLink(String, Vec<u8>),
    Fifo(String),
    Socket(String),
    /// `/dev/zero`; only root can.
    Device(String),
    Sparse(String, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Outside,
    Denied,
    Fails(&'static str),
    /// Any error will do.
    Refused,
    Works,
    /// Any answer will do, as long as the invariants hold.
    Whatever,
    Skip,
}

use Want::{Denied, Fails, Outside, Refused, Skip, Whatever, Works};

/// For read_file, list_directory, write_file, apply_patch.
type Wants = [Want; 4];

const TOOLS: [&str; 4] = ["read_file", "list_directory", "write_file", "apply_patch"];

const OUTSIDE: Wants = [Outside; 4];
const DENIED: Wants = [Denied; 4];
const IO: Wants = [Fails("io_error"); 4];
/// The way to it is missing.
const MISSING: Wants = [Fails("not_found"); 4];
const BAD: Wants = [Fails("bad_args"), Fails("bad_args"), Fails("bad_args"), Refused];
/// A name like any other, that nothing has yet.
const LITERAL: Wants = [Fails("not_found"), Fails("not_found"), Works, Works];
const FILE: Wants = [Works, Fails("io_error"), Fails("io_error"), Works];
const DIRECTORY: Wants = [Fails("io_error"), Works, Fails("io_error"), Fails("io_error")];

#[derive(Debug, Clone)]
struct Row {
    case: u16,
    what: &'static str,
    plants: Vec<Plant>,
    path: String,
    wants: Wants,
    paths: PathPolicy,
}

fn row(case: u16, what: &'static str, path: impl Into<String>, wants: Wants) -> Row {
    let path = path.into();
    Row { case, what, plants: Vec::new(), path, wants, paths: PathPolicy::FORGE }
}

impl Row {
    fn with(mut self, plant: Plant) -> Self {
        self.plants.push(plant);
        self
    }

    fn link(self, at: &str, to: &str) -> Self {
        self.with(Plant::Link(at.to_owned(), to.to_owned()))
    }

    fn file(self, at: &str) -> Self {
        self.with(Plant::File(at.to_owned()))
    }

    fn directory(self, at: &str) -> Self {
        self.with(Plant::Directory(at.to_owned()))
    }

    fn absolute(mut self) -> Self {
        self.paths = self.paths.allow_absolute();
        self
    }

    fn dots(mut self) -> Self {
        self.paths.dots = Dots::Resolve;
        self
    }

    fn possible(&self) -> bool {
        let is_device = |plant: &Plant| matches!(plant, Plant::Device(_));
        !self.plants.iter().any(is_device) || jm_testing::has("devices")
    }
}

impl Plant {
    fn set(&self, world: &World) {
        let at = |path: &String| {
            let at = world.root.join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            at
        };
        let mode = Mode::from_raw_mode(0o666);
        match self {
            Plant::Directory(path) => std::fs::create_dir_all(at(path)).unwrap(),
            Plant::File(path) => std::fs::write(at(path), "inside\n").unwrap(),
            Plant::Link(path, to) => world.link(path, to),
            Plant::RawLink(path, to) => {
                let to = OsString::from_vec(to.clone());
                std::os::unix::fs::symlink(to, at(path)).unwrap();
            }
            Plant::Fifo(path) => rustix::fs::mkfifoat(CWD, at(path), mode).unwrap(),
            Plant::Socket(path) => {
                rustix::fs::mknodat(CWD, at(path), FileType::Socket, mode, 0).unwrap();
            }
            Plant::Device(path) => {
                let zero = rustix::fs::makedev(1, 5);
                rustix::fs::mknodat(CWD, at(path), FileType::CharacterDevice, mode, zero).unwrap();
            }
            Plant::Sparse(path, size) => {
                std::fs::File::create(at(path)).unwrap().set_len(*size).unwrap();
            }
        }
    }
}

/// PATH 1-12, 20-23, 38, 39, NFR-SEC-01, FR-VAL-03, FR-VAL-04, FR-VAL-07, T-SBX-01, T-SBX-02
#[test]
fn spellings_that_lead_out() {
    check_all(&lexical::rows());
}

/// PATH 13-19, 21-29, FR-VAL-04, FR-VAL-04a, FR-VAL-07, T-SBX-02
#[test]
fn spellings_that_are_only_names() {
    check_all(&lexical::names());
}

/// SYM 34-52, SPEC 76, PROT 247, FR-VAL-05, FR-VAL-06, T-SBX-03, NFR-SEC-02, NFR-SEC-03
#[test]
fn links_of_every_kind() {
    check_all(&links::rows());
}

/// SPEC 72-77
#[test]
fn things_that_are_not_files() {
    check_all(&special::rows());
}

/// NAME 84-94
#[test]
fn names_that_are_hard_to_show_or_compare() {
    check_all(&names::rows());
}

#[test]
fn there_are_enough_rows() {
    let tables = [lexical::rows(), lexical::names(), links::rows(), special::rows(), names::rows()];
    let counts = tables.map(|rows| rows.len());
    println!("{counts:?} rows");
    assert!(counts.iter().sum::<usize>() >= 120, "{counts:?}");
}

fn check_all(rows: &[Row]) {
    let mut runs = 0;
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row.possible()) {
        for opening in OPENINGS {
            for (tool, want) in TOOLS.iter().zip(row.wants).filter(|(_, want)| *want != Skip) {
                runs += 1;
                wrong.extend(check(row, opening, tool, want));
            }
        }
    }
    println!("{} rows, {runs} calls", rows.len());
    assert!(wrong.is_empty(), "{} of {runs}:\n{}", wrong.len(), wrong.join("\n"));
}

/// `None` when the tool answered as it should; broken invariants fail on the spot.
fn check(row: &Row, opening: Opening, tool: &str, want: Want) -> Option<String> {
    let setting = Setting { paths: row.paths, disk: quick_disk(), ..Setting::new(opening) };
    let mut world = World::with(setting);
    row.plants.iter().for_each(|plant| plant.set(&world));
    let path = world.fill(&row.path);
    if tool == "apply_patch" {
        world.read(&path);
    }
    let told = format!("case {} {}, {tool}, {opening:?}", row.case, row.what);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let result = world.batch(vec![call(tool, &path)]).remove(0);
        verdict(&world, tool, want, &result)
    }));
    match caught {
        Ok(None) => None,
        Ok(Some(why)) => Some(format!("{told}: {why}")),
        Err(panic) => {
            let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            Some(format!("{told}: {why}"))
        }
    }
}

fn verdict(world: &World, tool: &str, want: Want, result: &ToolResult) -> Option<String> {
    let name = result.error.map(|code| code.name());
    let marked = holding(&tree(&world.root, None), MARK);
    let writes = matches!(tool, "write_file" | "apply_patch");
    let fine = match want {
        Outside => name == Some("path_outside_sandbox"),
        Denied => name == Some("denied_pattern_matched"),
        Fails(kind) => name == Some(kind),
        Refused => name.is_some(),
        Works => name.is_none() && (!writes || marked.len() == 1),
        Whatever | Skip => true,
    };
    (!fine)
        .then(|| format!("wanted {want:?}, got {:.300}, marked {marked:?}", format!("{result:?}")))
}

fn call(tool: &str, path: &str) -> ToolCall {
    let args = match tool {
        "write_file" => json!({ "path": path, "content": MARK }),
        "apply_patch" => json!({ "patch": appending(path) }),
        _ => json!({ "path": path }),
    };
    ToolCall::new("c1", tool, &args)
}

/// A patch that adds the mark at the end of a file.
fn appending(path: &str) -> String {
    let quoted = path.replace('\\', r"\\").replace('"', "\\\"");
    format!("LP1\nF \"{quoted}\"\nT\n{MARK}\n.\nEND\n")
}
