//! Killing with SIGKILL, and the failures of it (FR-EXE-05).
//!
//! Law: a kill that the kernel refuses becomes a value that reaches the command's result. A process
//! that is gone already is no failure.

use jm_system::fault;
use jm_system::os_error::errno_text;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

/// A process or a group of a command that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unended {
    target: KillTarget,
    why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KillTarget {
    Group(i32),
    Process(i32),
}

impl Unended {
    fn new(target: KillTarget, answer: rustix::io::Result<()>) -> Option<Self> {
        match answer {
            Ok(()) | Err(Errno::SRCH) => None,
            Err(error) => Some(Self { target, why: errno_text(error) }),
        }
    }

    /// A process that was killed and is still there: the kernel holds on to it.
    pub(crate) fn held(pid: i32) -> Self {
        let why = "it was killed and has not ended; the kernel holds on to it".to_owned();
        Self { target: KillTarget::Process(pid), why }
    }

    /// The sentence for a result or a log.
    pub fn in_words(&self) -> String {
        match self.target {
            KillTarget::Group(pid) => format!("could not end process group {pid}: {}", self.why),
            KillTarget::Process(pid) => format!("could not end process {pid}: {}", self.why),
        }
    }
}

/// Adds what is not known yet: a launcher and the program that started it may both have tried.
pub(crate) fn join(all: &mut Vec<Unended>, more: Vec<Unended>) {
    for one in more {
        if !all.iter().any(|known| known.target == one.target) {
            all.push(one);
        }
    }
}

pub(crate) fn kill_group(group: Pid) -> Option<Unended> {
    let answer =
        fault::fail_point("kill.group", 1).and_then(|()| kill_process_group(group, Signal::KILL));
    Unended::new(KillTarget::Group(group.as_raw_nonzero().get()), answer)
}

pub(crate) fn kill(process: Pid) -> Option<Unended> {
    let answer =
        fault::fail_point("kill.process", 1).and_then(|()| kill_process(process, Signal::KILL));
    Unended::new(KillTarget::Process(process.as_raw_nonzero().get()), answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_kill_is_told_and_a_process_that_is_gone_is_not() {
        assert_eq!(Unended::new(KillTarget::Group(7), Ok(())), None);
        assert_eq!(Unended::new(KillTarget::Group(7), Err(Errno::SRCH)), None);
        let refused = Unended::new(KillTarget::Group(7), Err(Errno::PERM)).unwrap();
        assert_eq!(refused.in_words(), "could not end process group 7: operation not permitted");
        let mut all = vec![refused.clone()];
        join(&mut all, vec![refused.clone(), Unended::held(8)]);
        assert_eq!(all, [refused, Unended::held(8)]);
    }
}
