//! The same confinement, built by the system's `bwrap`.
//!
//! Of use where a system lets that program make namespaces and not us. Inside, this program is the
//! first process and keeps the command as everywhere else.

use std::ffi::OsString;
use std::io::{Error, Seek, Write};
use std::path::Path;
use std::process::Command;

use rustix::fd::AsFd;
use rustix::fs::MemfdFlags;
use rustix::thread::CapabilitySet;

use super::mounts::{self, is_inside};
use super::name_guard::NameGuard;
use super::placeholders::Placeholders;
use super::process_tree::Remaining;
use super::step::{During, LaunchStep, StepFailure};
use super::supervisor;
use super::system_mounts::{DEVICE_LINKS, DEVICES};
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::layout::{MountKind, mount_layout};
use crate::contract::message::send;
use crate::contract::protocol::{FREE, INNER_ORDER, LAUNCH, LaunchOrder, LaunchStage};

/// The path of this program inside.
const LAUNCHER: &str = "/run/journeyman-launcher";

pub(crate) fn launch(order: &LaunchOrder, rights: CapabilitySet) -> LaunchStep<Remaining> {
    let program = order.bwrap.clone().ok_or_else(|| Error::from(std::io::ErrorKind::NotFound));
    let program = program.during("bwrap")?;
    let launcher = std::fs::read_link("/proc/self/exe").during("bwrap")?;
    // First of all: nothing else may take the number that the inner launcher looks at.
    give_order(&LaunchOrder { stage: LaunchStage::Inside, ..order.clone() }).during("bwrap")?;
    let _placeholders = Placeholders::make(&order.rules).during("placeholders")?;
    let mut command = Command::new(program);
    command.env_clear();
    command.args(arguments(&order.rules, &launcher, rights));
    command.args(["--", LAUNCHER, LAUNCH, "inside"]);
    let mut child = command.spawn().during("bwrap")?;
    supervisor::be_quiet().during("descriptors")?;
    let status = child.wait().during("bwrap")?;
    if status.success() {
        Ok(Remaining::None)
    } else {
        Err(StepFailure { step: "bwrap".into(), error: Error::other(status.to_string()) })
    }
}

/// Puts the order where the inner launcher looks for it.
fn give_order(order: &LaunchOrder) -> std::io::Result<()> {
    let made = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC)?;
    // Made a copy onto itself, a descriptor would stay closed to those who are started.
    let copy = rustix::io::fcntl_dupfd_cloexec(&made, FREE)?;
    drop(made);
    let mut file = std::fs::File::from(copy);
    send(&mut file, order)?;
    file.flush()?;
    file.rewind()?;
    inherit_as(&file, INNER_ORDER)
}

/// A copy under a fixed number, which programs that are started inherit.
#[allow(unsafe_code)]
fn inherit_as(file: &impl AsFd, number: i32) -> std::io::Result<()> {
    use rustix::fd::AsRawFd;
    // SAFETY: takes no pointers; the number is reserved for this in every launcher.
    match unsafe { libc::dup2(file.as_fd().as_raw_fd(), number) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

fn arguments(rules: &ConfinementRules, launcher: &Path, rights: CapabilitySet) -> Vec<OsString> {
    let mut words: Vec<OsString> = [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--as-pid-1",
        "--cap-drop",
        "ALL",
        // For the launcher inside, which gives it up before the command starts.
        "--cap-add",
        "CAP_SYS_ADMIN",
        "--proc",
        "/proc",
    ]
    .map(OsString::from)
    .to_vec();
    words.extend(devices());
    if rules.network.is_own() {
        words.push("--unshare-net".into());
    }
    for (right, name) in [
        (CapabilitySet::CHOWN, "CAP_CHOWN"),
        (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
        (CapabilitySet::FOWNER, "CAP_FOWNER"),
        (CapabilitySet::FSETID, "CAP_FSETID"),
    ] {
        if rights.contains(right) {
            words.extend(["--cap-add", name].map(OsString::from));
        }
    }
    for (path, place) in mount_layout(rules).into_iter().filter(|(path, _)| !is_inside(path, rules))
    {
        words.extend(mount(&path, place));
    }
    let launcher = [launcher.as_os_str().to_owned(), LAUNCHER.into()];
    words.push("--ro-bind".into());
    words.extend(launcher);
    words.extend(["--remount-ro", "/"].map(OsString::from));
    words
}

/// A `/dev` with few devices. The one that `bwrap` makes by itself costs a second user namespace, in
/// which nothing could be mounted.
fn devices() -> Vec<OsString> {
    let mut words: Vec<OsString> = ["--perms", "0755", "--tmpfs", "/dev"].map(Into::into).to_vec();
    for name in DEVICES {
        let path = format!("/dev/{name}");
        words.extend(["--dev-bind-try".into(), path.clone().into(), path.into()]);
    }
    for (name, target) in DEVICE_LINKS {
        words.extend(["--symlink".into(), (*target).into(), format!("/dev/{name}").into()]);
    }
    words.extend(["--perms", "1777", "--tmpfs", "/dev/shm", "--dir", "/dev/pts"].map(Into::into));
    words
}

/// Inside, as the first process: what is mounted by descriptors, and the guard of protected names.
pub(crate) fn complete(order: &LaunchOrder) -> LaunchStep<Option<NameGuard>> {
    let layout = mount_layout(&order.rules);
    mounts::complete(&order.rules, &layout)?;
    NameGuard::new(&order.rules, &layout).during("protected names")
}

fn mount(path: &Path, place: MountKind) -> Vec<OsString> {
    let at = || path.as_os_str().to_owned();
    let top = path.parent() == Some(Path::new("/"));
    if let (true, Ok(target)) = (top, std::fs::read_link(path)) {
        return vec!["--symlink".into(), target.into_os_string(), at()];
    }
    match place {
        MountKind::Scratch => vec!["--perms".into(), "1777".into(), "--tmpfs".into(), at()],
        // The versions in use have no way to let writes land in memory.
        MountKind::Readable | MountKind::Cached => vec!["--ro-bind-try".into(), at(), at()],
        // It knows no mounts without execution; Landlock inside refuses that.
        MountKind::Data => vec!["--ro-bind".into(), at(), at()],
        // One that is missing cannot be made either.
        MountKind::Kept => vec!["--ro-bind-try".into(), at(), at()],
        MountKind::Writable => vec!["--bind".into(), at(), at()],
        MountKind::Hidden if path.is_dir() => {
            vec![
                "--perms".into(),
                "0000".into(),
                "--tmpfs".into(),
                at(),
                "--remount-ro".into(),
                at(),
            ]
        }
        // A device on a mount that allows none cannot even be opened.
        MountKind::Hidden => vec!["--ro-bind".into(), "/dev/null".into(), at()],
    }
}
