//! The version of Landlock that the kernel offers.

/// Below this a truncated file is not seen as a changed one.
pub(crate) const LEAST_LANDLOCK: i32 = 3;

/// Asks the kernel for its version of Landlock; 0 for none.
#[allow(unsafe_code)]
pub fn landlock_version() -> i32 {
    const VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the kernel reads no structure and answers its version.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}
