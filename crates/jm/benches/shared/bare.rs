//! The same work by nothing but system calls: what no program can go below on this machine.

use std::ffi::CString;
use std::fs::File;
use std::io::Result;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    unmount,
};

/// The isolation of a program that is started by bare calls.
pub(crate) enum Isolation {
    /// An overlay over its directory, in a mount and a network namespace.
    Overlay,
    /// The same in namespaces of every kind, with a tree of its own made of these mounts.
    Tree(Vec<TreeMount>),
}

/// A mount of a command's tree.
#[derive(Clone)]
pub(crate) struct TreeMount {
    point: PathBuf,
    file_system: String,
}

impl TreeMount {
    /// The mounts that `/proc/self/mountinfo` lists, each after the one that it lies in.
    pub(crate) fn listed(mountinfo: &str) -> Vec<Self> {
        let mount = |line: &str| {
            let (mount, source) = line.split_once(" - ")?;
            let point = PathBuf::from(mount.split(' ').nth(4)?);
            Some(Self { point, file_system: source.split(' ').next()?.to_owned() })
        };
        let mut all: Vec<Self> = mountinfo.lines().filter_map(mount).collect();
        // The root is another one, and names inside the workspace are placeholders.
        all.retain(|one| one.point != Path::new("/") && one.point.exists());
        all.sort_by(|one, other| one.point.cmp(&other.point));
        all
    }
}

/// Starts a program in new namespaces, in a directory over which an overlay was mounted. `layer` is made new.
#[allow(unsafe_code)]
pub(crate) fn start_on_overlay(
    program: &[&str],
    directory: &Path,
    layer: &Path,
    isolation: &Isolation,
) -> Child {
    let [upper, work, root] = ["upper", "work", "root"].map(|name| layer.join(name));
    std::fs::remove_dir_all(layer).unwrap_or_default();
    for path in [&upper, &work, &root] {
        std::fs::create_dir_all(path).unwrap();
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        directory.display(),
        upper.display(),
        work.display()
    );
    let (options, directory) = (CString::new(options).unwrap(), directory.to_owned());
    let tree = match isolation {
        Isolation::Overlay => None,
        Isolation::Tree(mounts) => Some(mounts.clone()),
    };
    let mut command = Command::new(program[0]);
    command.args(&program[1..]);
    let prepare = move || {
        let all =
            libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
        unshare(if tree.is_some() { all } else { 0 })?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let plain = MountFlags::NOSUID | MountFlags::NODEV;
        mount("overlay", &directory, "overlay", plain, options.as_c_str())?;
        if let Some(mounts) = &tree {
            wait_as_parent()?;
            enter_tree(&root, &directory, mounts)?;
        }
        std::env::set_current_dir(&directory)
    };
    // SAFETY: the benchmark has one thread, so no lock is held by another after the fork.
    unsafe { command.pre_exec(prepare) };
    command.spawn().unwrap()
}

/// New user, mount and network namespaces, and `more`, with the same user in them.
#[allow(unsafe_code)]
fn unshare(more: libc::c_int) -> Result<()> {
    let own = |id: u32| format!("{id} {id} 1");
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", own(rustix::process::geteuid().as_raw())),
        ("/proc/self/gid_map", own(rustix::process::getegid().as_raw())),
    ];
    let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET | more;
    // SAFETY: a call without pointers.
    done(unsafe { libc::unshare(namespaces) })?;
    maps.iter().try_for_each(|(file, text)| std::fs::write(file, text))
}

/// The first process of a new process namespace is a child; this one ends with its exit code.
#[allow(unsafe_code)]
fn wait_as_parent() -> Result<()> {
    // SAFETY: the process has one thread; the parent does nothing but wait and end.
    unsafe {
        let child = libc::fork();
        if child <= 0 {
            return done(child);
        }
        // Whoever spawned it waits for the end of this one's copy of a pipe.
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
        let mut status = 0;
        libc::waitpid(child, &mut status, 0);
        libc::_exit(libc::WEXITSTATUS(status));
    }
}

/// Makes a tree of mounts below `root`, and goes there.
fn enter_tree(root: &Path, directory: &Path, mounts: &[TreeMount]) -> Result<()> {
    let plain = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", root, "tmpfs", plain, c"mode=0755")?;
    for link in std::fs::read_dir("/")?.filter_map(std::result::Result::ok) {
        if let Ok(target) = std::fs::read_link(link.path()) {
            std::os::unix::fs::symlink(target, root.join(link.file_name()))?;
        }
    }
    for TreeMount { point, file_system } in mounts {
        let target = root.join(point.strip_prefix("/").unwrap_or(point));
        match file_system.as_str() {
            "tmpfs" | "proc" if !target.exists() => {
                std::fs::create_dir_all(&target)?;
                mount(file_system.as_str(), &target, file_system.as_str(), plain, None)?;
            }
            _ => bind(point, &target, directory)?,
        }
    }
    std::env::set_current_dir(root)?;
    rustix::process::pivot_root(".", ".")?;
    Ok(unmount(".", UnmountFlags::DETACH)?)
}

/// Binds a path of the old tree, read-only but for the workspace; what the new tree has already, to itself.
fn bind(point: &Path, target: &Path, directory: &Path) -> Result<()> {
    let source = if target.exists() { target } else { point };
    if !target.exists() {
        let is_directory = point.is_dir();
        std::fs::create_dir_all(if is_directory { target } else { target.parent().unwrap() })?;
        if !is_directory {
            std::fs::write(target, "")?;
        }
    }
    mount_bind_recursive(source, target)?;
    if point == directory { Ok(()) } else { make_read_only(target) }
}

#[allow(unsafe_code)]
fn make_read_only(target: &Path) -> Result<()> {
    // The structure of mount_setattr(2): to set, to clear, propagation, user namespace.
    let attributes: [u64; 4] = [libc::MOUNT_ATTR_RDONLY, 0, 0, 0];
    let target = CString::new(target.as_os_str().as_bytes())?;
    // SAFETY: path and structure outlive the call, which writes to neither.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            libc::AT_RECURSIVE,
            &attributes,
            size_of_val(&attributes),
        )
    };
    done(libc::c_int::try_from(answer).unwrap_or(-1))
}

fn done(result: libc::c_int) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// A database as the journal's is set up, with one table.
pub(crate) fn database(path: &Path) -> rusqlite::Connection {
    let bare = rusqlite::Connection::open(path).unwrap();
    bare.pragma_update(None, "journal_mode", "WAL").unwrap();
    bare.pragma_update(None, "synchronous", "FULL").unwrap();
    bare.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT)").unwrap();
    bare
}

/// One durable write.
pub(crate) fn commit(database: &rusqlite::Connection, number: usize) {
    let body = format!("{number} {}", "x".repeat(300));
    database.execute("INSERT INTO t (body) VALUES (?1)", [body]).unwrap();
}

/// Exchanges every file of one directory with the one of the same name in the other, durably.
pub(crate) fn exchange_all(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    for entry in std::fs::read_dir(one).unwrap() {
        let entry = entry.unwrap();
        let twin = other.join(entry.file_name());
        renameat_with(CWD, entry.path(), CWD, twin, RenameFlags::EXCHANGE).unwrap();
    }
    rustix::fs::syncfs(File::open(one).unwrap()).unwrap();
}
