//! Files and directories that the superuser made immutable (`chattr +i`) or append-only (`+a`): every attempt at
//! them ends on a layer as it does directly, and leaves them as they were.

use std::process::Command;

use super::{Pair, differing, tree};
use crate::world::User;

/// Attempts at `big` and `docs`, which are immutable, and at `a`, which can only be appended to. What each says is not
/// compared: an overlay fails one system call earlier or later.
const ATTEMPTS: &[&str] = &[
    "echo more >> big",
    "true > big",
    "rm -f big",
    "mv big other",
    "mv run.sh big",
    "chmod 600 big",
    "touch -d 2002-02-02 big",
    "ln big other",
    "sed -i s/1/2/ big",
    "setfattr -n user.note -v 1 big",
    "echo new > docs/new",
    "mkdir docs/new",
    "mv src docs/",
    "rmdir docs",
    "chmod 700 docs",
    "rm -f a",
    "mv a other",
    "true > a",
    "cat big a > copied",
];

/// Takes the flags away, whatever became of the test.
struct Flags<'a>(&'a Pair);

impl Flags<'_> {
    fn change(&self, [immutable, append_only]: [&str; 2]) {
        for side in ["held/w", "direct/w"] {
            for (flag, names) in [(immutable, &["big", "docs"][..]), (append_only, &["a"])] {
                let mut chattr = Command::new("chattr");
                let changed = chattr.arg(flag).args(names).current_dir(self.0.at(side)).output();
                assert!(changed.unwrap().status.success(), "chattr {flag} in {side}");
            }
        }
    }
}

impl Drop for Flags<'_> {
    fn drop(&mut self) {
        self.change(["-i", "-a"]);
    }
}

#[test]
fn immutable_files_stay_as_they_are() {
    if !["immutable", "overlay", "setfattr", "chattr"].into_iter().all(jm_testing::has) {
        return;
    }
    let pair = Pair::new(User::Own);
    let flags = Flags(&pair);
    flags.change(["+i", "+a"]);
    let script: String = ATTEMPTS
        .iter()
        .enumerate()
        .map(|(number, attempt)| format!("{attempt} 2>/dev/null; echo {number} $? >> .ended\n"))
        .collect();
    let kept = pair.held(&script);
    pair.command("direct", "sh").args(["-c", &script]).output().unwrap();
    let wrong = differing(&tree(&pair.at("held/w")), &tree(&pair.at("direct/w")));
    assert!(wrong.is_empty(), "{}\n{kept:?}", wrong.join("\n"));
    let said = std::fs::read_to_string(pair.at("held/w/.ended")).unwrap();
    assert_eq!(said.lines().filter(|line| line.ends_with(" 0")).count(), 1, "{said}");
}
