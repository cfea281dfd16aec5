//! The system calls that a command does not get.
//!
//! Law: a filter that is allowed to be simple: for each call a few instructions that end in an
//! answer, then the next. A call of another architecture ends the process, because the numbers mean
//! something else there.

use std::io::{Error, Result};

use libc::{c_long, sock_filter, sock_fprog};
use rustix::fd::{FromRawFd, OwnedFd, RawFd};

use crate::contract::confinement_rules::{Access, ConfinementRules, Network};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the filter has to know the architecture's number");

/// Calls that reach other processes, the kernel, other namespaces, or around this filter.
const REFUSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_memfd_secret,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// System V and POSIX objects that processes of one user share by number, without a namespace between them.
const SHARED: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
];

/// Every flag that makes or enters a namespace.
const NAMESPACES: u32 = 0x7E02_0000 | 0x80;
/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;
/// Calls that change a mode, and which argument it is. `mkdir` is not among them: the kernel takes
/// nothing but permissions and the sticky bit from it.
const CHANGING_MODES: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_mknodat, 2),
    (libc::SYS_fchmodat2, 2),
];
/// Calls that open, and which arguments are the flags and the mode. Without these flags the mode is
/// whatever a register held.
const OPENING: &[(c_long, u32, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];
const CREATES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
/// Calls that give a file another name and may name a directory.
const RENAMING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
];
/// Typing into a terminal, and what the console does beyond that.
const TERMINAL: [u32; 2] = [0x5412, 0x541C];

const ALLOW: u32 = 0x7FFF_0000;
const KILL: u32 = 0x8000_0000;
const REFUSE: u32 = 0x0005_0000 | libc::EPERM as u32;
const REFUSE_ACCESS: u32 = 0x0005_0000 | libc::EACCES as u32;
const UNKNOWN: u32 = 0x0005_0000 | libc::ENOSYS as u32;

/// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// The lower half of an argument: the kernel looks at no more of these.
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const LOAD: u16 = 0x20;
const EQUALS: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const HAS_ANY: u16 = 0x45;
const AND: u16 = 0x54;
const ANSWER: u16 = 0x06;

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Goes on with the next instruction if it holds, and past `past` of them if not.
const fn when(code: u16, k: u32, past: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: past, k }
}

/// Installs the filter. On a layer the calls that rename are answered by whoever holds the descriptor.
pub(crate) fn enter(rules: &ConfinementRules) -> Result<Option<OwnedFd>> {
    let shared = if rules.backend.has_own_tree() {
        SharedObjects::Nothing
    } else {
        SharedObjects::WithTheUser
    };
    let mut code = filter(&families(rules), shared, streams(rules));
    if rules.layer.is_none() {
        return install(&code, 0).map(|_| None);
    }
    code.splice(code.len() - 1.., asked_about_renames());
    install_with_listener(&code).map(Some)
}

/// The end of the filter of a command on a layer.
fn asked_about_renames() -> Vec<sock_filter> {
    let mut code = Vec::new();
    for number in RENAMING {
        on(&mut code, *number, vec![step(ANSWER, libc::SECCOMP_RET_USER_NOTIF)]);
    }
    code.push(step(ANSWER, ALLOW));
    code
}

/// The permitted uses of sockets of the internet.
#[derive(Clone, Copy, PartialEq)]
enum SocketUse {
    Everything,
    /// TCP that goes out and calls `connect`, where Landlock looks at the port.
    OutgoingOnly,
}

fn streams(rules: &ConfinementRules) -> SocketUse {
    match (&rules.network, rules.backend.has_own_tree()) {
        (Network::Listed(_), false) => SocketUse::OutgoingOnly,
        (Network::Listed(_), true) | (Network::On | Network::Off, _) => SocketUse::Everything,
    }
}

/// The kinds of sockets that may be made. Without a network of its own a command could reach ours.
fn families(rules: &ConfinementRules) -> Vec<u32> {
    let mut families = Vec::new();
    // A socket that lies in the workspace could be connected to, read-only or not.
    if rules.access == Access::ReadsOnly {
        return families;
    }
    if rules.backend.has_own_tree() {
        families.push(libc::AF_UNIX as u32);
    }
    if rules.backend.has_own_tree() || rules.network != Network::Off {
        families.extend([libc::AF_INET as u32, libc::AF_INET6 as u32]);
    }
    families
}

/// The processes whose shared objects a command could reach by number.
#[derive(Clone, Copy, PartialEq)]
enum SharedObjects {
    Nothing,
    WithTheUser,
}

fn filter(families: &[u32], shared: SharedObjects, streams: SocketUse) -> Vec<sock_filter> {
    let mut code = vec![
        step(LOAD, ARCHITECTURE_AT),
        when(EQUALS, ARCHITECTURE, 1),
        // Skips the answer below.
        sock_filter { code: 0x05, jt: 0, jf: 0, k: 1 },
        step(ANSWER, KILL),
        step(LOAD, NUMBER),
        // The numbers of x32, which mean the same calls.
        when(AT_LEAST, 0x4000_0000, 1),
        step(ANSWER, UNKNOWN),
    ];
    for number in REFUSED {
        on(&mut code, *number, vec![step(ANSWER, REFUSE)]);
    }
    if shared == SharedObjects::WithTheUser {
        for number in SHARED {
            on(&mut code, *number, vec![step(ANSWER, REFUSE)]);
        }
        on(&mut code, libc::SYS_setpriority, only_itself(1));
        on(&mut code, libc::SYS_prlimit64, only_itself(0));
    }
    // Its flags are in memory where a filter cannot look; libraries fall back to `clone`.
    on(&mut code, libc::SYS_clone3, vec![step(ANSWER, UNKNOWN)]);
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        let judge = [step(LOAD, argument(0)), when(HAS_ANY, NAMESPACES, 1), step(ANSWER, REFUSE)];
        on(&mut code, number, [&judge[..], &[step(ANSWER, ALLOW)]].concat());
    }
    for (number, mode) in CHANGING_MODES {
        on(&mut code, *number, without_set_id(*mode));
    }
    for (number, flags, mode) in OPENING {
        let judge = without_set_id(*mode);
        let past = u8::try_from(judge.len() - 1).unwrap_or(u8::MAX);
        let creates = [step(LOAD, argument(*flags)), when(HAS_ANY, CREATES, past)];
        on(&mut code, *number, [&creates[..], &judge].concat());
    }
    // Its mode is in memory as well; libraries fall back to `openat`.
    on(&mut code, libc::SYS_openat2, vec![step(ANSWER, UNKNOWN)]);
    let mut ioctl = vec![step(LOAD, argument(1))];
    for request in TERMINAL {
        ioctl.extend([when(EQUALS, request, 1), step(ANSWER, REFUSE)]);
    }
    ioctl.push(step(ANSWER, ALLOW));
    on(&mut code, libc::SYS_ioctl, ioctl);
    on(&mut code, libc::SYS_socket, socket(families, streams));
    if streams == SocketUse::OutgoingOnly {
        for number in [libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4] {
            on(&mut code, number, vec![step(ANSWER, REFUSE_ACCESS)]);
        }
        // What connects while it sends is not looked at by Landlock.
        for (number, flags) in
            [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)]
        {
            let fast = libc::MSG_FASTOPEN as u32;
            let judge = [step(LOAD, argument(flags)), when(HAS_ANY, fast, 1)];
            let answers = [step(ANSWER, REFUSE_ACCESS), step(ANSWER, ALLOW)];
            on(&mut code, number, [&judge[..], &answers[..]].concat());
        }
    }
    code.push(step(ANSWER, ALLOW));
    code
}

/// Allowed for the caller itself, which is 0; `index` is the argument that names the process.
fn only_itself(index: u32) -> Vec<sock_filter> {
    vec![step(LOAD, argument(index)), when(EQUALS, 0, 1), step(ANSWER, ALLOW), step(ANSWER, REFUSE)]
}

/// Refuses a mode with which a file would run as its owner or group: the file outlives the command,
/// and its owner is the person. A filter cannot tell a directory, for which the bit is harmless.
fn without_set_id(mode: u32) -> Vec<sock_filter> {
    vec![
        step(LOAD, argument(mode)),
        when(HAS_ANY, SET_ID, 1),
        step(ANSWER, REFUSE),
        step(ANSWER, ALLOW),
    ]
}

fn socket(families: &[u32], streams: SocketUse) -> Vec<sock_filter> {
    let admitted = match streams {
        SocketUse::Everything => vec![step(ANSWER, ALLOW)],
        // The kind without its flags; the protocol left open, or TCP itself.
        SocketUse::OutgoingOnly => vec![
            step(LOAD, argument(1)),
            step(AND, 0xf),
            when(EQUALS, libc::SOCK_STREAM as u32, 5),
            step(LOAD, argument(2)),
            when(EQUALS, 0, 1),
            step(ANSWER, ALLOW),
            when(EQUALS, libc::IPPROTO_TCP as u32, 1),
            step(ANSWER, ALLOW),
            step(ANSWER, REFUSE_ACCESS),
        ],
    };
    let mut judge = vec![step(LOAD, argument(0))];
    for family in families {
        judge.push(when(EQUALS, *family, u8::try_from(admitted.len()).unwrap_or(u8::MAX)));
        judge.extend(&admitted);
    }
    // Of netlink what tells the interfaces and addresses.
    judge.extend([
        when(EQUALS, libc::AF_NETLINK as u32, 3),
        step(LOAD, argument(2)),
        when(EQUALS, libc::NETLINK_ROUTE as u32, 1),
        step(ANSWER, ALLOW),
        step(ANSWER, REFUSE_ACCESS),
    ]);
    judge
}

/// Judges one call; the number stays loaded for the others.
fn on(code: &mut Vec<sock_filter>, number: c_long, judge: Vec<sock_filter>) {
    let (Ok(number), Ok(past)) = (u32::try_from(number), u8::try_from(judge.len())) else { return };
    code.push(when(EQUALS, number, past));
    code.extend(judge);
}

#[allow(unsafe_code)]
fn install_with_listener(code: &[sock_filter]) -> Result<OwnedFd> {
    let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Without the second flag a signal interrupts a call that is being answered, and it starts again.
    let number = install(code, listen | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
        .or_else(|_| install(code, listen))?;
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Installs a filter, and gives the number of its listener where `flags` ask for one.
#[allow(unsafe_code)]
fn install(code: &[sock_filter], flags: libc::c_ulong) -> Result<RawFd> {
    const SET_MODE_FILTER: libc::c_uint = 1;
    let length = u16::try_from(code.len()).map_err(|_| Error::from_raw_os_error(libc::E2BIG))?;
    let program = sock_fprog { len: length, filter: code.as_ptr().cast_mut() };
    // SAFETY: `program` and the instructions it points to live until the call returns; the kernel
    // copies and checks them, and writes nothing.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &program) };
    if answer < 0 { Err(Error::last_os_error()) } else { Ok(answer as RawFd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor for filters: what the kernel would answer.
    fn answer(code: &[sock_filter], number: c_long, arguments: [u64; 4]) -> u32 {
        judge(code, ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
    }

    fn judge(code: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 4]) -> u32 {
        let mut loaded = 0;
        let mut at = 0;
        loop {
            let step = code[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                LOAD => {
                    loaded = match step.k {
                        NUMBER => number,
                        ARCHITECTURE_AT => architecture,
                        at => arguments[((at - 16) / 8) as usize] as u32,
                    }
                }
                AND => loaded &= step.k,
                EQUALS => at += jump(loaded == step.k),
                AT_LEAST => at += jump(loaded >= step.k),
                HAS_ANY => at += jump(loaded & step.k != 0),
                0x05 => at += step.k as usize,
                ANSWER => return step.k,
                other => panic!("no such instruction: {other:#x}"),
            }
        }
    }

    #[test]
    fn each_call_gets_its_answer() {
        let off = filter(&[], SharedObjects::WithTheUser, SocketUse::Everything);
        let unix_and_internet = [libc::AF_UNIX as u32, libc::AF_INET as u32];
        let own = filter(&unix_and_internet, SharedObjects::Nothing, SocketUse::Everything);
        let internet = [libc::AF_INET as u32, libc::AF_INET6 as u32];
        let listed = filter(&internet, SharedObjects::WithTheUser, SocketUse::OutgoingOnly);
        let (four, six) = (libc::AF_INET as u64, libc::AF_INET6 as u64);
        let stream = libc::SOCK_STREAM as u64;
        let fast = libc::MSG_FASTOPEN as u64;
        let create = (libc::O_CREAT | libc::O_WRONLY) as u64;
        let cases: &[(&[sock_filter], c_long, [u64; 4], u32)] = &[
            (&off, libc::SYS_read, [0; 4], ALLOW),
            (&off, libc::SYS_ptrace, [0; 4], REFUSE),
            (&off, libc::SYS_keyctl, [0; 4], REFUSE),
            (&off, libc::SYS_shmat, [0; 4], REFUSE),
            (&own, libc::SYS_shmat, [0; 4], ALLOW),
            (&off, libc::SYS_prlimit64, [0; 4], ALLOW),
            (&off, libc::SYS_prlimit64, [99, 0, 0, 0], REFUSE),
            (&off, libc::SYS_setpriority, [0, 99, 0, 0], REFUSE),
            (&off, libc::SYS_clone3, [0; 4], UNKNOWN),
            (&off, libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0], ALLOW),
            (&off, libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0, 0, 0], REFUSE),
            (&off, libc::SYS_unshare, [libc::CLONE_NEWNS as u64, 0, 0, 0], REFUSE),
            (&off, libc::SYS_unshare, [libc::CLONE_FILES as u64, 0, 0, 0], ALLOW),
            (&off, libc::SYS_fchmod, [0, 0o755, 0, 0], ALLOW),
            (&off, libc::SYS_fchmod, [0, 0o1777, 0, 0], ALLOW),
            (&off, libc::SYS_fchmod, [0, 0o4755, 0, 0], REFUSE),
            (&off, libc::SYS_fchmod, [0, 0o2755, 0, 0], REFUSE),
            (&off, libc::SYS_fchmodat, [0, 0, 0o4755, 0], REFUSE),
            (&off, libc::SYS_fchmodat2, [0, 0, 0o6755, 0], REFUSE),
            (&off, libc::SYS_fchmodat2, [0, 0, 0o755, 0x100], ALLOW),
            (&off, libc::SYS_mknodat, [0, 0, 0o104755, 0], REFUSE),
            (&off, libc::SYS_mknodat, [0, 0, 0o10644, 0], ALLOW),
            (&off, libc::SYS_mkdirat, [0, 0, 0o2755, 0], ALLOW),
            (&off, libc::SYS_openat, [0, 0, create, 0o4755], REFUSE),
            (&off, libc::SYS_openat, [0, 0, create, 0o644], ALLOW),
            (&off, libc::SYS_openat, [0, 0, 0, 0o4755], ALLOW),
            (&off, libc::SYS_openat, [0, 0, libc::O_DIRECTORY as u64, 0o4755], ALLOW),
            (&off, libc::SYS_openat, [0, 0, libc::O_TMPFILE as u64, 0o2755], REFUSE),
            (&off, libc::SYS_openat2, [0; 4], UNKNOWN),
            (&off, libc::SYS_ioctl, [0, libc::TIOCSTI, 0, 0], REFUSE),
            (&off, libc::SYS_ioctl, [0, libc::TIOCSTI | 1 << 32, 0, 0], REFUSE),
            (&off, libc::SYS_ioctl, [0, libc::TIOCGWINSZ, 0, 0], ALLOW),
            (&off, libc::SYS_socket, [libc::AF_INET as u64, 1, 0, 0], REFUSE_ACCESS),
            (&off, libc::SYS_socket, [libc::AF_UNIX as u64, 1, 0, 0], REFUSE_ACCESS),
            (&off, libc::SYS_socket, [libc::AF_NETLINK as u64, 3, 0, 0], ALLOW),
            (&off, libc::SYS_socket, [libc::AF_NETLINK as u64, 3, 9, 0], REFUSE_ACCESS),
            (&own, libc::SYS_socket, [libc::AF_INET as u64, 1, 0, 0], ALLOW),
            (&own, libc::SYS_socket, [libc::AF_UNIX as u64, 1, 0, 0], ALLOW),
            (&own, libc::SYS_socket, [libc::AF_VSOCK as u64, 1, 0, 0], REFUSE_ACCESS),
            (&own, libc::SYS_socket, [libc::AF_PACKET as u64, 3, 0, 0], REFUSE_ACCESS),
            (&own, libc::SYS_listen, [0; 4], ALLOW),
            (&listed, libc::SYS_socket, [four, stream, 0, 0], ALLOW),
            (&listed, libc::SYS_socket, [six, stream | 0o2_000_000, 6, 0], ALLOW),
            (&listed, libc::SYS_socket, [four, stream, 262, 0], REFUSE_ACCESS),
            (&listed, libc::SYS_socket, [four, stream, 132, 0], REFUSE_ACCESS),
            (&listed, libc::SYS_socket, [six, libc::SOCK_DGRAM as u64, 0, 0], REFUSE_ACCESS),
            (&listed, libc::SYS_socket, [four, libc::SOCK_RAW as u64, 6, 0], REFUSE_ACCESS),
            (&listed, libc::SYS_socket, [libc::AF_UNIX as u64, stream, 0, 0], REFUSE_ACCESS),
            (&listed, libc::SYS_socket, [libc::AF_NETLINK as u64, 3, 0, 0], ALLOW),
            (&listed, libc::SYS_listen, [0; 4], REFUSE_ACCESS),
            (&listed, libc::SYS_sendto, [0, 0, 0, fast], REFUSE_ACCESS),
            (&listed, libc::SYS_sendto, [0; 4], ALLOW),
            (&listed, libc::SYS_sendmsg, [0, 0, fast, 0], REFUSE_ACCESS),
            (&listed, libc::SYS_sendmmsg, [0, 0, 0, fast], REFUSE_ACCESS),
        ];
        for (code, number, arguments, expected) in cases {
            assert_eq!(answer(code, *number, *arguments), *expected, "{number} {arguments:?}");
        }
        #[cfg(target_arch = "x86_64")]
        for (number, arguments) in [
            (libc::SYS_chmod, [0, 0o4755, 0, 0]),
            (libc::SYS_creat, [0, 0o4755, 0, 0]),
            (libc::SYS_mknod, [0, 0o104755, 0, 0]),
            (libc::SYS_open, [0, create, 0o4755, 0]),
        ] {
            assert_eq!(answer(&off, number, arguments), REFUSE, "{number} {arguments:?}");
        }
        let on_layer = [&own[..own.len() - 1], &asked_about_renames()].concat();
        for number in RENAMING {
            assert_eq!(answer(&own, *number, [0; 4]), ALLOW, "{number}");
            let asked = answer(&on_layer, *number, [0; 4]);
            assert_eq!(asked, libc::SECCOMP_RET_USER_NOTIF, "{number}");
        }
        assert_eq!(answer(&on_layer, libc::SYS_read, [0; 4]), ALLOW);
        assert_eq!(judge(&off, 0x4000_0003, 26, [0; 4]), KILL);
        assert_eq!(judge(&off, ARCHITECTURE, 0x4000_0000 + 521, [0; 4]), UNKNOWN);
    }
}
