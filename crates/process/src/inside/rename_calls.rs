//! The calls of a command on a layer that rename (`SECCOMP_RET_USER_NOTIF`).
//!
//! An overlay in a user namespace answers `EXDEV` to the rename of a directory that lies beneath, and programs that
//! know one file system do not expect it. Such a rename is carried out here, inside the layer.
//!
//! Law: every other call goes on in the kernel as it was made. Ours reaches what the command reaches and acts with
//! the command's rights, so nothing depends on the path that was read from its memory still being there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Result;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use jm_files::layer::{EntryName, exchange_names, move_directory};
use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use super::landlock::{self, LandlockOpenings};
use super::limits;
use crate::contract::confinement_rules::ConfinementRules;

/// The thread that answers.
pub(crate) struct RenameCalls {
    stop: Arc<AtomicBool>,
    /// Closed to wake the thread.
    wake: OwnedFd,
    thread: JoinHandle<()>,
}

impl RenameCalls {
    pub(crate) fn serve(
        listener: OwnedFd,
        rules: &ConfinementRules,
        rights: CapabilitySet,
    ) -> Result<Option<Self>> {
        let Some(layer) = &rules.layer else { return Ok(None) };
        let device = rustix::fs::stat(&layer.root.path)?.st_dev;
        let (woken, wake) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let answerer = Answerer { listener, device, rules: rules.clone(), rights, stopped };
        let thread = std::thread::Builder::new().spawn(move || answerer.serve(&woken))?;
        Ok(Some(Self { stop, wake, thread }))
    }

    /// Asks for the end of a rename that is being carried out; it goes back to where it began.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the thread. The processes that could call have ended.
    pub(crate) fn finish(self) {
        drop(self.wake);
        ignore_error(self.thread.join().map_err(|_| "panicked"), "no call waits for an answer");
    }
}

struct Answerer {
    listener: OwnedFd,
    /// The device number that the overlay shows.
    device: u64,
    rules: ConfinementRules,
    rights: CapabilitySet,
    stopped: Arc<AtomicBool>,
}

/// The answer to a call.
enum RenameAnswer {
    /// The kernel carries it out.
    GoesOn,
    Done,
    Failed(Errno),
}

/// A rename as the command asked for it.
struct RenameCall {
    old: CallPath,
    new: CallPath,
    flags: RenameFlags,
}

/// A path, and the directory that it starts from.
struct CallPath {
    base: OwnedFd,
    path: Vec<u8>,
}

impl Answerer {
    fn serve(&self, woken: &OwnedFd) {
        loop {
            let mut fds =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
            ignore_error(poll(&mut fds, None), "interrupted or not, what is there is read");
            let [asked, over] = fds.each_ref().map(PollFd::revents);
            if !over.is_empty() || asked.intersects(PollFlags::HUP | PollFlags::ERR) {
                return;
            }
            if let Some(asked) = self.receive() {
                self.send(asked.id, &self.answer(&asked));
            }
        }
    }

    fn answer(&self, asked: &libc::seccomp_notif) -> RenameAnswer {
        let Some(call) = RenameCall::read(asked) else { return RenameAnswer::GoesOn };
        // The process number could be another process's by now, and the paths then mean nothing.
        if !call.names_directory(self.device) || !self.is_waiting(asked.id) {
            return RenameAnswer::GoesOn;
        }
        let outcome = std::thread::scope(|scope| {
            let confined = scope.spawn(|| self.confine().and_then(|()| self.carry_out(&call)));
            confined.join().unwrap_or(Err(Errno::IO))
        });
        match outcome {
            Ok(()) => RenameAnswer::Done,
            Err(error) => RenameAnswer::Failed(error),
        }
    }

    /// Gives this thread the rights of the command.
    fn confine(&self) -> std::result::Result<(), Errno> {
        let entered = limits::keep_only(self.rights)
            .and_then(|()| Ok(rustix::thread::set_no_new_privs(true)?))
            .and_then(|()| {
                let openings = LandlockOpenings::default();
                landlock::enter(&self.rules, &openings).map_err(|failure| failure.error)
            });
        entered.map_err(|_| Errno::XDEV)
    }

    fn carry_out(&self, call: &RenameCall) -> std::result::Result<(), Errno> {
        let (old, new) = (&call.old, &call.new);
        let plain =
            rustix::fs::renameat_with(&old.base, &*old.path, &new.base, &*new.path, call.flags);
        match plain {
            Err(Errno::XDEV) => {}
            other => return other,
        }
        let (Some((from, old)), Some((to, new))) = (old.split(), new.split()) else {
            return Err(Errno::XDEV);
        };
        let shown = [&from, &to].map(|directory| rustix::fs::fstat(directory).map(|s| s.st_dev));
        if shown.iter().any(|device| *device != Ok(self.device)) {
            return Err(Errno::XDEV);
        }
        let from = EntryName { directory: from.as_fd(), name: OsStr::from_bytes(old) };
        let to = EntryName { directory: to.as_fd(), name: OsStr::from_bytes(new) };
        let is_stopped = || self.stopped.load(Ordering::Relaxed);
        let moved = if call.flags.contains(RenameFlags::EXCHANGE) {
            exchange_names(from, to, &is_stopped)
        } else {
            move_directory(from, to, call.flags, &is_stopped)
        };
        // Whatever else is in the way, a program that copies instead may get past it.
        moved.map_err(|error| match error {
            Errno::NOTEMPTY | Errno::NOSPC | Errno::DQUOT => error,
            _ => Errno::XDEV,
        })
    }

    #[allow(unsafe_code)]
    fn receive(&self) -> Option<libc::seccomp_notif> {
        // SAFETY: zeroes are a value of this structure, and what the kernel asks for; it writes no more than
        // its size, which is part of the request.
        unsafe {
            let mut asked: libc::seccomp_notif = std::mem::zeroed();
            let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
            // An error says that the caller is gone.
            (libc::ioctl(self.listener.as_raw_fd(), request, &mut asked) == 0).then_some(asked)
        }
    }

    #[allow(unsafe_code)]
    fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the kernel reads one number, which outlives the call.
        unsafe {
            libc::ioctl(self.listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0
        }
    }

    #[allow(unsafe_code)]
    fn send(&self, id: u64, answer: &RenameAnswer) {
        let (error, flags) = match answer {
            RenameAnswer::GoesOn => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            RenameAnswer::Done => (0, 0),
            RenameAnswer::Failed(error) => (-error.raw_os_error(), 0),
        };
        let response = libc::seccomp_notif_resp { id, val: 0, error, flags };
        // SAFETY: the kernel reads the structure, which outlives the call. An error says that the caller is gone.
        unsafe {
            libc::ioctl(self.listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &response);
        }
    }
}

impl RenameCall {
    /// Reads the arguments from the caller's memory. `None` when they cannot be understood.
    fn read(asked: &libc::seccomp_notif) -> Option<Self> {
        let memory = File::open(format!("/proc/{}/mem", asked.pid)).ok()?;
        let [first, second, third, fourth, fifth, _] = asked.data.args;
        let here = libc::AT_FDCWD as u64;
        let (from, old, to, new, flags) = match i64::from(asked.data.nr) {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => (here, first, here, second, 0),
            libc::SYS_renameat => (first, second, third, fourth, 0),
            libc::SYS_renameat2 => (first, second, third, fourth, fifth),
            _ => return None,
        };
        let flags = RenameFlags::from_bits(u32::try_from(flags).ok()?)?;
        if flags.contains(RenameFlags::WHITEOUT) {
            return None;
        }
        let path = |base, at| CallPath::read(asked.pid, &memory, base, at);
        Some(Self { old: path(from, old)?, new: path(to, new)?, flags })
    }

    /// Tells whether a directory of the overlay would get another name.
    fn names_directory(&self, device: u64) -> bool {
        self.old.is_directory_of(device)
            || self.flags.contains(RenameFlags::EXCHANGE) && self.new.is_directory_of(device)
    }
}

impl CallPath {
    fn read(process: u32, memory: &File, base: u64, at: u64) -> Option<Self> {
        let path = read_text(memory, at)?;
        // Descriptors are numbers of 32 bits.
        let base = match base as u32 as i32 {
            _ if path.starts_with(b"/") => "/".to_owned(),
            libc::AT_FDCWD => format!("/proc/{process}/cwd"),
            number => format!("/proc/{process}/fd/{number}"),
        };
        Some(Self { base: open_directory(CWD, base.as_bytes())?, path })
    }

    fn is_directory_of(&self, device: u64) -> bool {
        let found = rustix::fs::statat(&self.base, &*self.path, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| {
            found.st_dev == device && FileType::from_raw_mode(found.st_mode).is_dir()
        })
    }

    /// The directory that holds the name, and the name.
    fn split(&self) -> Option<(OwnedFd, &[u8])> {
        let end = self.path.iter().rposition(|byte| *byte != b'/')? + 1;
        let path = &self.path[..end];
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (parent, name) = path.split_at(start);
        let parent = if parent.is_empty() { b"." } else { parent };
        (name != b"." && name != b"..").then_some(())?;
        Some((open_directory(&self.base, parent)?, name))
    }
}

fn open_directory(from: impl AsFd, path: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(from, path, flags, Mode::empty()).ok()
}

/// A path from the memory of a process, up to its NUL.
fn read_text(memory: &File, at: u64) -> Option<Vec<u8>> {
    let mut text = vec![0; libc::PATH_MAX as usize];
    // Less where the mapped memory ends.
    let count = memory.read_at(&mut text, at).ok()?;
    text.truncate(count);
    text.truncate(text.iter().position(|byte| *byte == 0)?);
    Some(text)
}
