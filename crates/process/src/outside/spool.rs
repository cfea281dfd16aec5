//! All that a command prints, on disk while it runs.
//!
//! Law: memory and disk are bounded. The first and the last bytes stay; how many were dropped
//! between them is known exactly, also when the program was killed while it wrote: each stream is a
//! row of numbered pieces, all of one size but the last, and what is missing from the row is what
//! was dropped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jm_system::identity::ProcessIdentity;
use jm_system::state::{StateDir, read_text};
use jm_types::ignore_error;
use rustix::fs::OFlags;

use super::output_reader::CommandStream;

/// A stream is at most so many pieces: the first ones, and the last ones.
const FIRST: u64 = 4;
const LAST: u64 = 4;
const SMALLEST_PIECE: u64 = 4 * 1024;

/// The directory of spools.
#[derive(Debug, Clone)]
pub struct SpoolDir {
    path: PathBuf,
}

/// One command's output, being written.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    name: String,
    piece: u64,
    stdout: PieceRow,
    stderr: PieceRow,
    state: SpoolState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpoolState {
    Open,
    /// Taken over; what comes now comes too late.
    Sealed,
    /// Not wanted, or not possible.
    Gone,
}

#[derive(Debug, Default)]
struct PieceRow {
    file: Option<File>,
    /// Pieces begun so far.
    begun: u64,
    /// Bytes in the last one.
    filled: u64,
}

/// The kept output of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spooled {
    /// The stream.
    pub stream: CommandStream,
    /// Bytes that were printed.
    pub total: u64,
    /// The parts that are left of it, in order; one part when nothing was dropped.
    pub parts: Vec<SpoolPart>,
}

/// A run of bytes without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolPart {
    /// The offset of its first byte in the stream.
    pub start: u64,
    /// Bytes of it.
    pub size: u64,
    /// Bytes of each file but the last.
    piece: u64,
    files: Vec<PathBuf>,
}

impl SpoolDir {
    /// Opens the folder of spools, and makes it where it is missing.
    pub fn open(state: &StateDir) -> Result<Self> {
        Ok(Self { path: state.subdirectory("spool")?.path().to_owned() })
    }

    /// Spools of their own, in a folder that is there.
    pub(crate) fn below(folder: &Path) -> Self {
        Self { path: folder.to_owned() }
    }

    /// Nothing is made before there is something to write. `most` bytes of each stream are kept.
    pub fn begin(&self, name: &str, most: u64) -> Spool {
        Spool {
            folder: self.path.clone(),
            name: name.to_owned(),
            piece: (most / (FIRST + LAST)).max(SMALLEST_PIECE),
            stdout: PieceRow::default(),
            stderr: PieceRow::default(),
            state: if most == 0 { SpoolState::Gone } else { SpoolState::Open },
        }
    }

    /// The first process of the command whose output this is, unless it was seen to end.
    pub fn leader(&self, name: &str) -> Option<ProcessIdentity> {
        let note = read_text(&leader_note(&self.path, name), 256).ok()??;
        let mut words = note.split_whitespace();
        let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(ProcessIdentity { pid, started, boot: words.next()?.to_owned() })
    }

    /// Finds the output under a name, perhaps from a program that was killed.
    pub fn find(&self, name: &str) -> Result<Vec<Spooled>> {
        let found = [CommandStream::Stdout, CommandStream::Stderr]
            .map(|stream| spooled(&self.path, name, stream));
        let found: Vec<Option<Spooled>> = found.into_iter().collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The names under which something is there.
    pub fn names(&self) -> Result<Vec<String>> {
        let pieces = pieces(&self.path)?.into_iter().map(|piece| piece.0);
        let mut names: Vec<String> = pieces.chain(leaders(&self.path)?).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Removes the spool of a call, if there is one.
    pub fn remove(&self, name: &str) -> Result<()> {
        let note = leader_note(&self.path, name);
        if note.exists() {
            std::fs::remove_file(note)?;
        }
        let pieces = pieces(&self.path)?.into_iter().filter(|piece| piece.0 == name);
        for (name, stream, number) in pieces {
            std::fs::remove_file(path(&self.path, &name, stream, number))?;
        }
        Ok(())
    }
}

fn leader_note(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.leader"))
}

fn leaders(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        names
            .extend(name.to_str().and_then(|name| name.strip_suffix(".leader")).map(str::to_owned));
    }
    Ok(names)
}

/// A file that only we can read, and that is no link.
fn create(path: &Path) -> Result<File> {
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
}

fn suffix(stream: CommandStream) -> &'static str {
    match stream {
        CommandStream::Stdout => "out",
        CommandStream::Stderr => "err",
    }
}

fn path(folder: &Path, name: &str, stream: CommandStream, number: u64) -> PathBuf {
    folder.join(format!("{name}.{}.{number:06}", suffix(stream)))
}

/// Every piece: name, stream, number; in order.
fn pieces(folder: &Path) -> Result<Vec<(String, CommandStream, u64)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let parsed = name.to_str().and_then(|name| {
            let (name, number) = name.rsplit_once('.')?;
            let (name, stream) = name.rsplit_once('.')?;
            let stream = [CommandStream::Stdout, CommandStream::Stderr]
                .into_iter()
                .find(|s| suffix(*s) == stream)?;
            Some((name.to_owned(), stream, number.parse().ok()?))
        });
        found.extend(parsed);
    }
    found.sort_by(|a, b| (&a.0, suffix(a.1), a.2).cmp(&(&b.0, suffix(b.1), b.2)));
    Ok(found)
}

/// The pieces that are there. Its writer may take some away while we look; if the last one is gone,
/// what we saw is too old.
fn sizes(folder: &Path, name: &str, stream: CommandStream) -> Result<BTreeMap<u64, u64>> {
    const TRIES: usize = 100;
    let mut sizes = BTreeMap::new();
    for _ in 0..TRIES {
        sizes.clear();
        let mut last = None;
        for (_, _, number) in pieces(folder)?.into_iter().filter(|p| p.0 == name && p.1 == stream) {
            last = Some(number);
            match std::fs::metadata(path(folder, name, stream, number)) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                found => sizes.insert(number, found?.len()),
            };
        }
        if sizes.last_key_value().map(|(number, _)| *number) == last {
            break;
        }
    }
    Ok(sizes)
}

fn spooled(folder: &Path, name: &str, stream: CommandStream) -> Result<Option<Spooled>> {
    let sizes = sizes(folder, name, stream)?;
    let (Some((_, piece)), Some((last, rest))) = (sizes.first_key_value(), sizes.last_key_value())
    else {
        return Ok(None);
    };
    let mut parts: Vec<SpoolPart> = Vec::new();
    for (number, size) in sizes.iter().filter(|(_, size)| **size > 0) {
        let (start, file) = (number * piece, path(folder, name, stream, *number));
        match parts.last_mut() {
            Some(part) if part.start + part.size == start => {
                part.size += size;
                part.files.push(file);
            }
            _ => parts.push(SpoolPart { start, size: *size, piece: *piece, files: vec![file] }),
        }
    }
    let total = last * piece + rest;
    Ok((total > 0).then_some(Spooled { stream, total, parts }))
}

impl SpoolPart {
    /// The bytes from `start` to `end`, which lie within this part, each run with its place. A piece
    /// that was taken away since is left out.
    pub(crate) fn read(&self, start: u64, end: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        use std::os::unix::fs::FileExt;
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, path) in (0..).zip(&self.files) {
            let at = self.start + number * self.piece;
            let after = (at + self.piece).min(self.start + self.size);
            let (from, to) = (start.max(at), end.min(after));
            if from >= to {
                continue;
            }
            let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(usize::MAX)];
            match File::open(path).and_then(|file| file.read_exact_at(&mut bytes, from - at)) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                read => read?,
            }
            match runs.last_mut() {
                Some((place, run)) if *place + run.len() as u64 == from => run.append(&mut bytes),
                _ => runs.push((from, bytes)),
            }
        }
        Ok(runs)
    }

    /// Reads the run from its beginning.
    pub fn open(&self) -> Result<impl Read + use<>> {
        let none: Box<dyn Read + Send> = Box::new(std::io::empty());
        self.files.iter().try_fold(none, |before, path| {
            let next: Box<dyn Read + Send> = Box::new(before.chain(File::open(path)?));
            Ok(next)
        })
    }
}

impl Spool {
    /// The call's key, which names the folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Notes which process the output comes from, for whoever finds it after a crash.
    pub fn note_leader(&self, pid: u32) {
        let Some(leader) = ProcessIdentity::of(pid) else { return };
        let note = format!("{} {} {}", leader.pid, leader.started, leader.boot);
        let written = create(&leader_note(&self.folder, &self.name));
        ignore_error(
            written.and_then(|mut file| file.write_all(note.as_bytes())),
            "without it recovery knows less, and says so",
        );
    }

    /// Writes out what is kept of a stream, with a line for what was dropped.
    pub fn copy(&self, stream: CommandStream, out: &mut dyn Write) -> Result<()> {
        let Some(kept) = spooled(&self.folder, &self.name, stream)? else { return Ok(()) };
        let mut at = 0;
        for part in &kept.parts {
            if part.start > at {
                writeln!(out, "\n... [{} bytes omitted] ...", part.start - at)?;
            }
            std::io::copy(&mut part.open()?, out)?;
            at = part.start + part.size;
        }
        Ok(())
    }

    /// Tells if bytes are on disk.
    pub fn is_kept(&self) -> bool {
        self.state == SpoolState::Open
    }

    /// A disk that is full has more important things to take: then nothing is kept.
    pub fn write(&mut self, stream: CommandStream, bytes: &[u8]) {
        if self.state == SpoolState::Open && self.append(stream, bytes).is_err() {
            self.forget();
        }
    }

    fn append(&mut self, stream: CommandStream, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let row = match stream {
                CommandStream::Stdout => &mut self.stdout,
                CommandStream::Stderr => &mut self.stderr,
            };
            if row.file.is_none() || row.filled >= self.piece {
                row.next_piece(&self.folder, &self.name, stream)?;
            }
            let Some(file) = &mut row.file else { return Ok(()) };
            let room = usize::try_from(self.piece - row.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            file.write_all(now)?;
            row.filled += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Takes away what was written.
    pub fn forget(&mut self) {
        self.state = SpoolState::Gone;
        for (row, stream) in
            [(&self.stdout, CommandStream::Stdout), (&self.stderr, CommandStream::Stderr)]
        {
            // Those in the middle are gone already.
            let middle = FIRST..row.begun.saturating_sub(LAST + 1);
            for number in (0..row.begun).filter(|number| !middle.contains(number)) {
                let path = path(&self.folder, &self.name, stream, number);
                ignore_error(std::fs::remove_file(path), "what stays is removed with its name");
            }
        }
    }

    /// Ends the writing; what there is, if it is wanted.
    pub fn seal(&mut self) -> Result<Vec<Spooled>> {
        if self.state != SpoolState::Open {
            return Ok(Vec::new());
        }
        self.state = SpoolState::Sealed;
        if self.stdout.begun == 0 && self.stderr.begun == 0 {
            return Ok(Vec::new());
        }
        SpoolDir { path: self.folder.clone() }.find(&self.name)
    }
}

impl PieceRow {
    fn next_piece(&mut self, folder: &Path, name: &str, stream: CommandStream) -> Result<()> {
        let number = self.begun;
        let dropped = number.checked_sub(LAST).filter(|number| *number >= FIRST);
        if let Some(dropped) = dropped {
            std::fs::remove_file(path(folder, name, stream, dropped))?;
        }
        let file = create(&path(folder, name, stream, number))?;
        self.begun += 1;
        self.filled = 0;
        self.file = Some(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, SpoolDir) {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDir::open(scratch.path()).unwrap();
        let spools = SpoolDir::open(&state).unwrap();
        (scratch, spools)
    }

    fn content(part: &SpoolPart) -> Vec<u8> {
        let mut bytes = Vec::new();
        part.open().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Whatever was printed: the parts are its first and last bytes, and say which.
    #[test]
    fn first_and_last_bytes_are_kept_within_the_quota() {
        let quota = 8 * SMALLEST_PIECE;
        for length in [0, 1, 4095, 4096, 4097, 32_768, 32_769, 36_864, 100_000, 1_000_003] {
            let (_scratch, spools) = folder();
            let printed: Vec<u8> = (0..length).map(|number: u32| (number / 7) as u8).collect();
            let mut spool = spools.begin("s-1", quota);
            printed.chunks(1_000).for_each(|chunk| spool.write(CommandStream::Stdout, chunk));
            // Found without its writer, as after a crash.
            let found = spools.find("s-1").unwrap();
            assert_eq!(spool.seal().unwrap(), found, "{length}");
            let Some(found) = found.first() else {
                assert_eq!(length, 0);
                continue;
            };
            assert_eq!(found.total, u64::from(length));
            let kept: u64 = found.parts.iter().map(|part| part.size).sum();
            assert!(kept <= quota && (kept == found.total || kept > quota / 8 * 7), "{length}");
            for part in &found.parts {
                let range = part.start as usize..(part.start + part.size) as usize;
                assert_eq!(content(part), &printed[range], "{length}");
                let (from, to) = (part.start + part.size / 3, part.start + part.size / 3 * 2);
                let middle = part.read(from, to).unwrap().into_iter().flat_map(|run| run.1);
                let middle: Vec<u8> = middle.collect();
                assert_eq!(middle, &printed[from as usize..to as usize], "{length}");
            }
            assert_eq!(found.parts[0].start, 0);
            let last = found.parts.last().unwrap();
            assert_eq!(last.start + last.size, found.total);
        }
    }

    #[test]
    fn streams_and_names_are_apart_and_go_when_they_are_removed() {
        let (_scratch, spools) = folder();
        for name in ["s-1", "s-10"] {
            let mut spool = spools.begin(name, 1);
            spool.write(CommandStream::Stdout, name.as_bytes());
            spool.write(CommandStream::Stderr, b"error");
        }
        assert_eq!(spools.names().unwrap(), ["s-1", "s-10"]);
        let found = spools.find("s-1").unwrap();
        assert_eq!(found.iter().map(|s| s.total).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(content(&found[0].parts[0]), b"s-1");
        spools.remove("s-1").unwrap();
        assert_eq!(spools.names().unwrap(), ["s-10"]);
        assert!(spools.find("s-1").unwrap().is_empty());
    }

    #[test]
    fn what_is_forgotten_or_sealed_takes_nothing_more() {
        let (_scratch, spools) = folder();
        let mut spool = spools.begin("s-1", 1);
        spool.write(CommandStream::Stdout, b"x");
        spool.forget();
        spool.write(CommandStream::Stdout, b"y");
        assert!(!spool.is_kept() && spools.names().unwrap().is_empty());
        let mut spool = spools.begin("s-2", 1);
        spool.write(CommandStream::Stdout, b"x");
        let sealed = spool.seal().unwrap();
        spool.write(CommandStream::Stdout, b"y");
        assert_eq!(spools.find("s-2").unwrap(), sealed);
    }
}
