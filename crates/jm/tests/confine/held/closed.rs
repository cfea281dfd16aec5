//! Directories that a command closes to its owner, kept and taken back.

use super::commands::SCRIPTS;
use super::{Pair, differing, said, tree};
use crate::world::{User, users, works};

/// Scripts that close directories, by their names.
fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = SCRIPTS.iter().filter(|(name, _, _)| name.contains("closed"));
    all.map(|(name, _, script)| (*name, *script))
}

fn check(user: User) -> Vec<String> {
    assert!(works(user, "namespaces"), "as {user:?}");
    let pair = Pair::new(user);
    let mut wrong = Vec::new();
    for (name, script) in scripts() {
        pair.again();
        let kept = pair.held(script);
        let after = tree(&pair.at("held/w"));
        let steps = [("undo", tree(&pair.at("first/w"))), ("redo", after)];
        for (word, expected) in steps {
            let output = pair.jm(&[word]);
            let found = differing(&tree(&pair.at("held/w")), &expected);
            if !kept.status.success() || !output.status.success() || !found.is_empty() {
                wrong.push(format!("{name}, {word}: {} {} {found:#?}", said(&kept), said(&output)));
            }
        }
    }
    wrong
}

/// A directory that a person closes while the command runs can be opened again for `jm held keep`.
#[test]
fn a_directory_that_is_closed_meanwhile_is_a_conflict() {
    for user in users().into_iter().filter(|user| *user == User::Ordinary) {
        let pair = Pair::new(user);
        let change = |mode: &str| {
            pair.command("held", "chmod").args([mode, "docs"]).status().unwrap();
        };
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(700));
                change("000");
            });
            pair.held("echo x > docs/n; sleep 1.5")
        });
        assert!(said(&ran).contains("docs: it was closed meanwhile"), "{}", said(&ran));
        change("755");
        let kept = pair.jm(&["held", "keep"]);
        assert!(kept.status.success(), "{}", said(&kept));
        assert_eq!(std::fs::read_to_string(pair.at("held/w/docs/n")).unwrap(), "x\n");
    }
}

#[test]
fn what_closes_directories_is_undone_and_redone() {
    let wrong: Vec<String> = users().into_iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
