//! The same work by nothing but system calls: what no program can go below on this machine.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

/// Starts a program in new namespaces, in a directory over which an overlay was mounted. `layer` is made new.
#[allow(unsafe_code)]
pub(crate) fn start_on_overlay(program: &[&str], directory: &Path, layer: &Path) -> Child {
    let [upper, work] = ["upper", "work"].map(|name| layer.join(name));
    std::fs::remove_dir_all(layer).unwrap_or_default();
    for path in [&upper, &work] {
        std::fs::create_dir_all(path).unwrap();
    }
    let text = |bytes: &[u8]| std::ffi::CString::new(bytes).unwrap();
    let options = text(
        format!(
            "lowerdir={},upperdir={},workdir={},userxattr",
            directory.display(),
            upper.display(),
            work.display()
        )
        .as_bytes(),
    );
    let target = text(directory.as_os_str().as_bytes());
    let mut command = Command::new(program[0]);
    command.args(&program[1..]);
    let own = |id: u32| format!("{id} {id} 1");
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", own(rustix::process::geteuid().as_raw())),
        ("/proc/self/gid_map", own(rustix::process::getegid().as_raw())),
    ];
    let prepare = move || {
        let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET;
        // SAFETY: a call without pointers.
        done(unsafe { libc::unshare(namespaces) })?;
        for (file, text) in &maps {
            std::fs::write(file, text)?;
        }
        let (none, private) = (std::ptr::null(), libc::MS_PRIVATE | libc::MS_REC);
        let (overlay, options) = (c"overlay".as_ptr(), options.as_ptr().cast());
        // SAFETY: every text is a C string that outlives its call; a missing source, type and data are
        // null as mount(2) allows.
        unsafe {
            done(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
            done(libc::mount(overlay, target.as_ptr(), overlay, 0, options))?;
            done(libc::chdir(target.as_ptr()))
        }
    };
    // SAFETY: nothing but system calls happens between the fork and the program.
    unsafe { command.pre_exec(prepare) };
    command.spawn().unwrap()
}

fn done(result: libc::c_int) -> std::io::Result<()> {
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
