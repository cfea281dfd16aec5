//! A disk that forgets what was not synced: built from the system calls of a run.
//!
//! Law: content is safe after the file was synced, a name after its directory was. Everything else
//! a power cut may keep or lose, each file and each directory on its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(crate) const TRACED: &str = "trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,rename,\
    renameat,renameat2,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir";

/// One system call that touched the disk, or told somebody something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Create {
        path: String,
    },
    Write {
        path: String,
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    Truncate {
        path: String,
        length: usize,
    },
    Sync {
        path: String,
    },
    Rename {
        from: String,
        to: String,
        exchange: bool,
    },
    Link {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    Folder {
        path: String,
    },
    /// A line on standard output.
    Answer,
}

/// The fate of unsynced writes in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    LosesAll,
    /// Names are kept, contents lost: the order in which some file systems write.
    LosesContents,
    /// Contents are kept, names lost.
    LosesNames,
    /// One or the other, by chance.
    Mixed(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

#[derive(Debug, Clone, Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
}

type Names = BTreeMap<String, Node>;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    now: Names,
    synced: Names,
    contents: Vec<Content>,
}

/// Path and content of everything; nothing for a directory.
pub(crate) type Image = BTreeMap<String, Option<Vec<u8>>>;

impl Disk {
    /// Everything that is there now is safe.
    pub(crate) fn of(folders: &[&Path]) -> Self {
        let mut disk = Self::default();
        folders.iter().for_each(|folder| disk.load(folder));
        disk.synced.clone_from(&disk.now);
        disk
    }

    fn load(&mut self, folder: &Path) {
        self.now.insert(folder.to_str().unwrap().to_owned(), Node::Folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.load(&path);
            } else {
                let bytes = fs::read(&path).unwrap();
                let content = Content { now: bytes.clone(), synced: bytes };
                self.new_file(path.to_str().unwrap(), content);
            }
        }
    }

    fn new_file(&mut self, path: &str, content: Content) {
        self.now.insert(path.to_owned(), Node::File(self.contents.len()));
        self.contents.push(content);
    }

    fn file(&mut self, path: &str) -> Option<&mut Content> {
        match self.now.get(path) {
            Some(Node::File(number)) => self.contents.get_mut(*number),
            Some(Node::Folder) | None => None,
        }
    }

    pub(crate) fn apply(&mut self, step: &Step) {
        match step {
            Step::Create { path } if self.now.contains_key(path) => {}
            Step::Create { path } => self.new_file(path, Content::default()),
            Step::Write { path, at, bytes } => {
                if let Some(content) = self.file(path) {
                    let at = at.unwrap_or(content.now.len());
                    content.now.resize(content.now.len().max(at + bytes.len()), 0);
                    content.now[at..at + bytes.len()].copy_from_slice(bytes);
                }
            }
            Step::Truncate { path, length } => {
                if let Some(content) = self.file(path) {
                    content.now.resize(*length, 0);
                }
            }
            Step::Sync { path } => self.sync(path),
            Step::Rename { from, to, exchange } => {
                let moved = self.now.remove(from);
                let replaced = moved.and_then(|node| self.now.insert(to.clone(), node));
                if let Some(node) = replaced.filter(|_| *exchange) {
                    self.now.insert(from.clone(), node);
                }
            }
            Step::Link { from, to } => {
                if let Some(node) = self.now.get(from).copied() {
                    self.now.insert(to.clone(), node);
                }
            }
            Step::Remove { path } => drop(self.now.remove(path)),
            Step::Folder { path } => drop(self.now.insert(path.clone(), Node::Folder)),
            Step::Answer => {}
        }
    }

    fn sync(&mut self, path: &str) {
        if let Some(content) = self.file(path) {
            content.synced.clone_from(&content.now);
            return;
        }
        self.synced.retain(|name, _| folder_of(name) != path);
        let inside = self.now.iter().filter(|(name, _)| folder_of(name) == path);
        self.synced.extend(inside.map(|(name, node)| (name.clone(), *node)));
    }

    /// The disk as it is found when the power is back. The roots themselves are always there.
    pub(crate) fn after(&self, cut: Cut, roots: &[&Path]) -> Image {
        let mut image = Image::new();
        for root in roots {
            let root = root.to_str().unwrap().to_owned();
            image.insert(root.clone(), None);
            self.gather(&root, cut, &mut image);
        }
        image
    }

    fn gather(&self, folder: &str, cut: Cut, image: &mut Image) {
        let names = if keeps_names(cut, folder) { &self.now } else { &self.synced };
        for (name, node) in names.iter().filter(|(name, _)| folder_of(name) == folder) {
            // The index of the log is rebuilt, the reserve holds nothing.
            if name.ends_with("-shm") || name.ends_with("/reserve") {
                continue;
            }
            match node {
                Node::Folder => {
                    image.insert(name.clone(), None);
                    self.gather(name, cut, image);
                }
                Node::File(number) => {
                    let content = &self.contents[*number];
                    let keeps = keeps_content(cut, *number);
                    let bytes = if keeps { &content.now } else { &content.synced };
                    image.insert(name.clone(), Some(bytes.clone()));
                }
            }
        }
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn keeps_names(cut: Cut, folder: &str) -> bool {
    match cut {
        Cut::LosesAll | Cut::LosesNames => false,
        Cut::LosesContents => true,
        Cut::Mixed(seed) => coin(seed, folder.bytes().map(u64::from).sum()),
    }
}

fn keeps_content(cut: Cut, number: usize) -> bool {
    match cut {
        Cut::LosesAll | Cut::LosesContents => false,
        Cut::LosesNames => true,
        Cut::Mixed(seed) => coin(seed, number as u64),
    }
}

fn coin(seed: u64, which: u64) -> bool {
    let mut state = seed ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    for _ in 0..3 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state & 1 == 1
}

pub(crate) fn restore(image: &Image, roots: &[&Path]) {
    for root in roots {
        fs::remove_dir_all(root).unwrap();
    }
    for (path, content) in image {
        match content {
            None => fs::create_dir(path).unwrap(),
            Some(bytes) => fs::write(path, bytes).unwrap(),
        }
    }
}

/// The steps in the log of `strace -f -y -xx`, each where it ended.
pub(crate) fn steps(log: &str) -> Vec<Step> {
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    let mut steps = Vec::new();
    for line in log.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(start) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(process, start);
        } else if let Some((_, end)) = rest.split_once(" resumed>") {
            let start = begun.remove(process).unwrap_or_default();
            steps.extend(step(&format!("{start}{end}")));
        } else {
            steps.extend(step(rest));
        }
    }
    steps
}

/// A call that failed is no step.
fn step(text: &str) -> Option<Step> {
    let (name, rest) = text.split_once('(')?;
    let (args, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') {
        return None;
    }
    let args: Vec<&str> = args.trim_end().trim_end_matches(')').split(", ").collect();
    let at = |folder: &str, name: &str| match quoted(name) {
        name if name.starts_with('/') => name,
        name => format!("{}/{name}", described(folder)),
    };
    Some(match (name, &args[..]) {
        ("openat", [_, _, flags, ..]) if flags.contains("O_CREAT") => {
            Step::Create { path: described(result) }
        }
        ("write", [fd, bytes, _]) if fd.starts_with("1<") => {
            return decoded(bytes).ends_with(b"\n").then_some(Step::Answer);
        }
        ("write", [fd, bytes, _]) => {
            Step::Write { path: described(fd), at: None, bytes: decoded(bytes) }
        }
        ("pwrite64", [fd, bytes, _, place]) => {
            Step::Write { path: described(fd), at: place.parse().ok(), bytes: decoded(bytes) }
        }
        ("ftruncate", [fd, length]) => {
            Step::Truncate { path: described(fd), length: number(length) }
        }
        ("fsync" | "fdatasync", [fd]) => Step::Sync { path: described(fd) },
        ("rename", [from, to]) => {
            Step::Rename { from: quoted(from), to: quoted(to), exchange: false }
        }
        ("renameat" | "renameat2", [from, old, to, new, flags @ ..]) => Step::Rename {
            from: at(from, old),
            to: at(to, new),
            exchange: flags.first().is_some_and(|flags| flags.contains("EXCHANGE")),
        },
        ("linkat", [from, old, to, new, ..]) => Step::Link { from: at(from, old), to: at(to, new) },
        ("unlink" | "rmdir", [path]) => Step::Remove { path: quoted(path) },
        ("unlinkat", [folder, path, _]) => Step::Remove { path: at(folder, path) },
        ("mkdir", [path, _]) => Step::Folder { path: quoted(path) },
        ("mkdirat", [folder, path, _]) => Step::Folder { path: at(folder, path) },
        _ => return None,
    })
}

/// SQLite truncates by number, in hexadecimal when it is large.
fn number(text: &str) -> usize {
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// The path of `12<…>`.
fn described(fd: &str) -> String {
    let inside = fd.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    String::from_utf8_lossy(&decoded(inside.map_or("", |(path, _)| path))).into_owned()
}

fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&decoded(text)).into_owned()
}

/// The bytes of `\x41\x42`, with or without quotes.
fn decoded(text: &str) -> Vec<u8> {
    let pairs = text.split("\\x").skip(1);
    pairs.map(|pair| u8::from_str_radix(&pair[..2], 16).unwrap()).collect()
}
