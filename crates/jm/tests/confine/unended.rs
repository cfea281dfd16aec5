//! Processes that cannot be killed are told.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::world::{User, World, users};

/// FR-EXE-05: a process that belongs to another user by now. Only a superuser can make the program
/// that becomes one, so only their tests have this user.
#[test]
fn a_process_of_another_user_is_named_and_not_waited_for() {
    for user in users().into_iter().filter(|user| *user == User::Ordinary) {
        let world = World::new(user, "none");
        let python = std::fs::canonicalize("/usr/bin/python3").unwrap();
        let helper = world.at("helper");
        std::fs::copy(python, &helper).unwrap();
        std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o4755)).unwrap();
        let pid = world.at("pid");
        let becomes = "import os, sys, time; os.setresuid(0, 0, 0); os.closerange(0, 3); \
                       open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)";
        let began = std::time::Instant::now();
        let words = "\"$0\" -c \"$1\" \"$2\" & while ! [ -s \"$2\" ]; do sleep 0.01; done";
        let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
        jm.args(["sandbox", "--backend", "none", "--", "sh", "-c", words]);
        jm.arg(&helper).arg(becomes).arg(&pid).stdout(Stdio::null());
        let output = jm.output().unwrap();
        let left = std::fs::read_to_string(&pid).unwrap();
        let kill = std::process::Command::new("kill").args(["-KILL", &left]).status().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(kill.success(), "it had ended: {said}");
        let named = format!("could not end process {left}: operation not permitted");
        assert!(said.contains(&named), "{said}");
        assert_eq!(said.matches("could not end").count(), 1, "{said}");
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}
