//! Freed memory: how much the allocator keeps (`mallopt`).

/// Freed bytes that are kept for the next allocation.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 16 * 1024 * 1024;
/// Larger pieces always go back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 4 * 1024 * 1024;

/// For programs that need much memory for a moment again and again: it is not returned to the system
/// and fetched anew each time, which costs more than the work itself.
#[allow(unsafe_code)]
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes no pointers, and may be called at any time from any thread; a value that the
    // allocator does not like changes nothing.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}
