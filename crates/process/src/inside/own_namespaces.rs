//! New namespaces (`clone`), and the users in them.

use std::io::Result;

use rustix::process::{Pid, getegid, geteuid};

/// Like fork, into new namespaces. `None` in the child.
#[allow(unsafe_code)]
pub(super) fn clone(flags: libc::c_int) -> Result<Option<Pid>> {
    // SAFETY: without a stack and without shared memory this is a fork. The launcher has one
    // thread, so no lock is held in the child.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Everyone inside is who they are outside. A superuser's files may belong to anybody, so they map
/// all users where they may.
pub(super) fn map_ids(first: Pid) -> Result<()> {
    let write = |name: &str, text: &str| {
        std::fs::write(format!("/proc/{}/{name}", first.as_raw_nonzero()), text)
    };
    let everyone = "0 0 4294967295\n";
    if geteuid().is_root() && write("uid_map", everyone).is_ok() {
        return write("gid_map", everyone);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    write("setgroups", "deny\n")?;
    write("uid_map", &format!("{user} {user} 1\n"))?;
    write("gid_map", &format!("{group} {group} 1\n"))
}
