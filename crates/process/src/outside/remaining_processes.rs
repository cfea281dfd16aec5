//! Processes of a command that still run when its program is gone.
//!
//! Law: a number alone says nothing. A process counts only if it was started in this boot, and
//! belongs to the session that the command was given when it started.

use std::time::{Duration, Instant};

use jm_system::identity::{ProcessIdentity, ProcessStat, all_pids};

/// The time that a launcher may need to end a command after the program died.
const DYING: Duration = Duration::from_secs(1);

/// A process that outlived its master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// The process id.
    pub pid: u32,
    /// The name that it gives itself.
    pub name: String,
}

/// The processes that stay alive in the session that `leader` opened. A launcher that lost its
/// program is ending them, and itself, at this very moment, so they are given time for it.
pub fn lasting_survivors(leader: &ProcessIdentity) -> Vec<Survivor> {
    let until = Instant::now() + DYING;
    loop {
        let survivors = survivors_of(leader);
        if survivors.is_empty() || Instant::now() >= until {
            return survivors;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes in the session that `leader` opened. While one is there, the kernel gives the
/// session's number to no other.
fn survivors_of(leader: &ProcessIdentity) -> Vec<Survivor> {
    if leader.boot != ProcessIdentity::own().boot {
        return Vec::new();
    }
    let mut survivors: Vec<Survivor> = all_pids()
        .filter_map(|pid| Some((pid, ProcessStat::of_living(pid)?)))
        // A session of that number from before the command's start is another command's.
        .filter(|(_, stat)| stat.session == leader.pid && stat.started >= leader.started)
        .map(|(pid, stat)| Survivor { pid, name: stat.name })
        .collect();
    survivors.sort_by_key(|survivor| survivor.pid);
    survivors
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_of_the_session_is_found_and_no_other() {
        let mut command = Command::new("sleep");
        // SAFETY: setsid is async-signal-safe, and nothing else is done between fork and exec.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
        }
        let mut child = command.arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let leader = ProcessIdentity::of(child.id()).unwrap();
        assert_eq!(survivors_of(&leader), [Survivor { pid: child.id(), name: "sleep".into() }]);
        let later = ProcessIdentity { started: leader.started + 1, ..leader.clone() };
        assert!(survivors_of(&later).is_empty());
        let elsewhere = ProcessIdentity { boot: "another".into(), ..leader.clone() };
        assert!(survivors_of(&elsewhere).is_empty());
        let ending = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        assert!(lasting_survivors(&leader).is_empty(), "what is just being ended is waited for");
        ending.join().unwrap();
    }
}
