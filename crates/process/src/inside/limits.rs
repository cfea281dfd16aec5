//! Limits of a command before it starts: descriptors (`close_range`), resources (`setrlimit`), capabilities.

use std::io::Result;

use jm_types::ignore_error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use crate::contract::confinement_rules::Resources;
use crate::contract::protocol::CONTROL;

/// A command inherits its three streams and nothing else.
#[allow(unsafe_code)]
pub(crate) fn close_descriptors() {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: takes no pointers; the descriptors are only marked, and closed by exec.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC) };
}

/// Closes what the program itself was started with, which is none of a launcher's business. Called before
/// it has opened anything: whatever it holds beyond its order's socket is that.
#[allow(unsafe_code)]
pub(crate) fn drop_inherited() {
    let first = libc::c_uint::try_from(CONTROL + 1).unwrap_or(libc::c_uint::MAX);
    // SAFETY: takes no pointers, and nothing in this process owns one of these descriptors yet.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
}

/// A shell that waits for its children would wait for ever behind our mask.
#[allow(unsafe_code)]
pub(crate) fn unblock_signals() {
    // SAFETY: the set is initialised before it is used and lives on this stack.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

pub(crate) fn limit(resources: &Resources) -> Result<()> {
    // What others of the same user run counts too, so the limit is put on top of all there are.
    let others = u64::from(rustix::system::sysinfo().procs);
    lower(Resource::Core, 0)?;
    lower(Resource::Nproc, resources.processes.saturating_add(others))?;
    lower(Resource::Data, resources.memory_bytes)?;
    lower(Resource::Fsize, resources.file_bytes)
}

/// Never above what we have ourselves.
fn lower(resource: Resource, most: u64) -> Result<()> {
    let now = getrlimit(resource);
    let least = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let limit = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    setrlimit(resource, limit).map_err(Into::into)
}

/// Of a superuser's rights those over files: a workspace may belong to somebody else.
pub(crate) fn file_rights() -> CapabilitySet {
    let rights = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID;
    capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective & rights)
}

/// Gives up every capability but these, for good.
pub(crate) fn keep_only(kept: CapabilitySet) -> Result<()> {
    clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().iter().filter(|one| !kept.contains(*one)) {
        // An ordinary user has no right to lower the bound and nothing below it; a kernel may not
        // know the newest ones.
        let removed = remove_capability_from_bounding_set(capability);
        ignore_error(removed, "older kernels do not know all of them");
    }
    let held = capabilities(None)?.permitted & kept;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: held, permitted: held, inheritable })?;
    Ok(())
}
