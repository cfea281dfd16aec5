//! Opening beneath a root without following any link: two implementations of one promise.
//!
//! Law: `open` never follows a symbolic link, so the path that was checked is the path that opens,
//! whatever happens to the tree in between. `Kernel` asks openat2 for that, `Walk` opens component
//! by component with no-follow, holding each directory by descriptor.

use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::{self, Errno};

/// The implementation by which paths are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The system call openat2.
    #[cfg(target_os = "linux")]
    Kernel,
    /// One openat for each component.
    Walk,
}

#[cfg(target_os = "linux")]
const PATH_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PATH_ONLY: OFlags = OFlags::RDONLY;

/// Renames elsewhere make openat2 answer EAGAIN; that many times we ask again.
#[cfg(target_os = "linux")]
const ATTEMPTS: usize = 128;

impl Opening {
    /// The kernel's way where it works; old kernels and some containers refuse the call.
    pub fn best(root: impl AsFd) -> Self {
        #[cfg(target_os = "linux")]
        if Opening::Kernel.open(root, Path::new(""), PATH_ONLY, Mode::empty()).is_ok() {
            return Opening::Kernel;
        }
        #[cfg(not(target_os = "linux"))]
        drop(root);
        Opening::Walk
    }

    pub(crate) fn open(
        self,
        root: impl AsFd,
        relative: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        match self {
            #[cfg(target_os = "linux")]
            Opening::Kernel => open_by_kernel(root.as_fd(), relative, flags, mode),
            Opening::Walk => open_by_walk(root.as_fd(), relative, flags, mode),
        }
    }

    /// A handle for looking, not for reading: opening it has no effect on devices and FIFOs.
    pub(crate) fn look(self, root: impl AsFd, relative: &Path) -> io::Result<OwnedFd> {
        self.open(root, relative, PATH_ONLY, Mode::empty())
    }
}

/// Opens a path beneath a root without following links: the kernel's way, or by the walk where that call is refused.
pub(crate) fn open_beneath(
    root: &OwnedFd,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    match Opening::Kernel.open(root, relative, flags, mode) {
        Err(Errno::NOSYS | Errno::PERM) => {}
        answer => return answer,
    }
    Opening::Walk.open(root, relative, flags, mode)
}

#[cfg(target_os = "linux")]
fn open_by_kernel(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags as Resolve;
    let resolve = Resolve::BENEATH | Resolve::NO_MAGICLINKS | Resolve::NO_SYMLINKS;
    let target = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    for _ in 0..ATTEMPTS {
        match fs::openat2(root, target, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => return answer,
        }
    }
    Err(Errno::AGAIN)
}

fn open_by_walk(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let names: Vec<_> = relative.iter().collect();
    let Some((last, ancestors)) = names.split_last() else {
        return fs::openat(root, ".", flags | OFlags::CLOEXEC, mode);
    };
    let mut directory: Option<OwnedFd> = None;
    for name in ancestors {
        let parent = directory.as_ref().map_or(root, AsFd::as_fd);
        directory = Some(open_directory(parent, Path::new(name))?);
    }
    let parent = directory.as_ref().map_or(root, AsFd::as_fd);
    let opened = fs::openat(parent, *last, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)?;
    // A look-only handle can be one of a link itself; the kernel's way answers ELOOP there.
    if FileType::from_raw_mode(fs::fstat(&opened)?.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP);
    }
    Ok(opened)
}

/// One step down, never through a link.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &Path) -> io::Result<OwnedFd> {
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}
