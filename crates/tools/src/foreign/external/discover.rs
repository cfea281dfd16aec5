//! The discovery of executables: their names, and the one that counts of two with one name (IK-DIRS).
//!
//! Law: the file's name is the tool's name. Later directories override earlier ones, but only with
//! a tool that can be used. Nothing is run here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jm_system::programs;
use jm_system::programs::{FileStamp, ProgramFile};
use jm_types::Digest;

const LONGEST_NAME: usize = 64;

/// Whose directory it is; later ones override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolPlace {
    /// Installed for everybody on the machine.
    System,
    /// The person's own.
    User,
    /// Brought by the workspace.
    Project,
}

impl ToolPlace {
    /// The name in lists and messages.
    pub fn word(self) -> &'static str {
        match self {
            ToolPlace::System => "system",
            ToolPlace::User => "user",
            ToolPlace::Project => "project",
        }
    }
}

/// The consent by which the programs of a directory may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Whoever can write there is the person or the system.
    Owner,
    /// The person has trusted these files, by their paths in the directory, with these bytes.
    Bytes(BTreeMap<PathBuf, Digest>),
    /// They may not.
    Missing,
}

/// A directory of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The owner of the directory.
    pub place: ToolPlace,
    /// Absolute.
    pub path: PathBuf,
    /// The consent that its programs have.
    pub consent: Consent,
}

/// A file that is a tool, or should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The owner of its directory.
    pub place: ToolPlace,
    /// Absolute.
    pub path: PathBuf,
    /// The digest of the bytes that it must hold to be started.
    pub bytes: Option<Digest>,
    /// The state of the file, by which a remembered answer counts.
    pub stamp: FileStamp,
    /// The reason why it cannot be a tool.
    pub fault: Option<ToolFault>,
}

/// The fault of a tool that cannot be used, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFault {
    /// One sentence.
    pub message: String,
    /// The next step for the person.
    pub hint: String,
}

/// All tools by name; of each the one that counts most comes first.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Candidates by the tool's name.
    pub candidates: BTreeMap<String, Vec<Candidate>>,
}

/// Looks into each directory, given in rising priority.
pub fn discover(directories: &[Directory]) -> Discovered {
    let mut discovered = Discovered::default();
    for directory in directories {
        match programs::list_programs(&directory.path) {
            Ok(files) => files.iter().for_each(|file| discovered.add(directory, file)),
            Err(error) => discovered.add_unreadable(directory, &error),
        }
    }
    discovered
}

impl Discovered {
    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.candidates.keys().map(String::as_str)
    }

    fn add(&mut self, directory: &Directory, file: &ProgramFile) {
        let name = match tool_name(&file.name) {
            Some(name) => name,
            // Notes and libraries may lie beside the tools.
            None if !file.is_executable => return,
            None => file.name.clone(),
        };
        let same = self.candidates.entry(name).or_default();
        let twin = same.first().filter(|other| other.place == directory.place);
        let bytes = match &directory.consent {
            Consent::Bytes(trusted) => trusted.get(Path::new(&file.name)).copied(),
            Consent::Owner | Consent::Missing => None,
        };
        let candidate = Candidate {
            place: directory.place,
            path: file.path.clone(),
            bytes,
            stamp: file.stamp,
            fault: fault(directory, file, twin, bytes),
        };
        // A twin never displaces the first of its directory.
        let at = usize::from(twin.is_some());
        same.insert(at, candidate);
    }

    fn add_unreadable(&mut self, directory: &Directory, error: &std::io::Error) {
        let fault = ToolFault {
            message: format!("{}: {error}", directory.path.display()),
            hint: "no tool of this directory can be used until it can be read".to_owned(),
        };
        let candidate = Candidate {
            place: directory.place,
            path: directory.path.clone(),
            bytes: None,
            stamp: FileStamp::default(),
            fault: Some(fault),
        };
        self.candidates.entry(directory.path.display().to_string()).or_default().push(candidate);
    }
}

/// `file-read` and `file-read-tool` are both `file_read` (IK-NAMES).
fn tool_name(file: &str) -> Option<String> {
    let stem = file.strip_suffix("-tool").filter(|stem| !stem.is_empty()).unwrap_or(file);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = stem.starts_with(|c: char| c.is_ascii_alphabetic())
        && stem.len() <= LONGEST_NAME
        && stem.chars().all(fits);
    is_name.then(|| stem.replace('-', "_"))
}

/// The fault of a file that shows before it is started.
fn fault(
    directory: &Directory,
    file: &ProgramFile,
    twin: Option<&Candidate>,
    bytes: Option<Digest>,
) -> Option<ToolFault> {
    let path = file.path.display();
    let fault = |message: String, hint: &str| Some(ToolFault { message, hint: hint.to_owned() });
    if tool_name(&file.name).is_none() {
        return fault(
            format!("{path}: this file name gives no tool name"),
            "use a letter, then letters, digits, `-` and `_`, at most 64",
        );
    }
    if let Some(twin) = twin {
        return fault(
            format!("{path} has the same tool name as {}", twin.path.display()),
            "rename one of them",
        );
    }
    if !file.is_executable {
        return fault(format!("{path} is not executable"), &format!("chmod +x '{path}'"));
    }
    match (&directory.consent, file.foreign) {
        (Consent::Missing, _) => fault(
            format!("{path} belongs to the project, which is not trusted"),
            "read it, then run `jm trust`",
        ),
        (Consent::Bytes(_), _) if file.is_link => fault(
            format!("{path} is a symbolic link, which cannot be trusted"),
            "copy the file there",
        ),
        (Consent::Bytes(_), _) if bytes.is_none() => {
            fault(format!("{path} is not among the trusted files"), "trust it with `jm trust`")
        }
        (Consent::Owner, Some(why)) => fault(
            format!("{path} is not safe to run: {why}"),
            "make it and its directory writable for you only",
        ),
        (Consent::Bytes(_), _) | (Consent::Owner, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_give_tool_names() {
        let cases = [
            ("bash", Some("bash")),
            ("file-read", Some("file_read")),
            ("file_read", Some("file_read")),
            ("web-fetch-tool", Some("web_fetch")),
            ("tool", Some("tool")),
            ("-tool", None),
            ("weather.py", None),
            ("1st", None),
            ("naïve", None),
            ("a b", None),
            ("", None),
        ];
        for (file, expected) in cases {
            assert_eq!(tool_name(file).as_deref(), expected, "{file}");
        }
        assert!(tool_name(&"x".repeat(64)).is_some());
        assert_eq!(tool_name(&"x".repeat(65)), None);
    }

    fn file(name: &str) -> ProgramFile {
        let (path, name) = (PathBuf::from("/tools").join(name), name.to_owned());
        ProgramFile {
            path,
            name,
            is_executable: true,
            is_link: false,
            foreign: None,
            stamp: FileStamp::default(),
        }
    }

    fn directory(place: ToolPlace, consent: Consent) -> Directory {
        Directory { place, path: PathBuf::from("/tools"), consent }
    }

    /// IK-DIRS
    #[test]
    fn later_directories_come_first_and_twins_do_not_count() {
        let mut found = Discovered::default();
        found.add(&directory(ToolPlace::System, Consent::Owner), &file("a"));
        found.add(&directory(ToolPlace::User, Consent::Owner), &file("a"));
        found.add(&directory(ToolPlace::User, Consent::Owner), &file("a-tool"));
        found.add(&directory(ToolPlace::Project, Consent::Missing), &file("a"));
        let order: Vec<_> =
            found.candidates["a"].iter().map(|c| (c.place, c.fault.is_none())).collect();
        let expected = [
            (ToolPlace::Project, false),
            (ToolPlace::User, true),
            (ToolPlace::User, false),
            (ToolPlace::System, true),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn only_what_was_trusted_may_run() {
        let digest = Digest::of(b"x");
        let trusted = Consent::Bytes([(PathBuf::from("known"), digest)].into());
        let linked = ProgramFile { is_link: true, ..file("known") };
        let foreign = ProgramFile { foreign: Some("anybody can change it"), ..file("known") };
        let cases = [
            (&trusted, file("known"), true),
            (&trusted, file("other"), false),
            (&trusted, linked.clone(), false),
            // Its bytes are checked before each start, so it does not matter who may change it.
            (&trusted, foreign.clone(), true),
            (&Consent::Owner, file("known"), true),
            (&Consent::Owner, linked, true),
            (&Consent::Owner, foreign, false),
            (&Consent::Owner, ProgramFile { is_executable: false, ..file("known") }, false),
            (&Consent::Missing, file("known"), false),
        ];
        for (consent, file, usable) in cases {
            let mut found = Discovered::default();
            found.add(&directory(ToolPlace::Project, consent.clone()), &file);
            let candidates = found.candidates.values().next().map(Vec::as_slice);
            let is_usable = candidates.is_some_and(|c| c[0].fault.is_none());
            assert_eq!(is_usable, usable, "{consent:?} {file:?}");
        }
    }
}
