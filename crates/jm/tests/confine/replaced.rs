//! Protected names that somebody outside replaces while a command runs, as editors and git save files.

use std::path::Path;
use std::time::Duration;

use crate::ground::{Ground, Session, exchange};
use crate::world::{CANARY, User, own_all, users, works};

/// Names of the workspace and what they hold in the end; the canary where no command may read it.
const NAMES: &[(&str, &str)] = &[
    (".env", CANARY),
    ("deep/inner/.env", CANARY),
    ("deep/server.key", CANARY),
    (".git/config", "[core]\n[new]\n"),
    (".git/hooks/pre-push", "#!/bin/sh\n# new\n"),
    ("nested/.git/config", "[core]\n[new]\n"),
    (".vscode/tasks.json", "{\"new\": 1}\n"),
    ("deep/.envrc", "echo new\n"),
    (".mcp.json", "{\"new\": 1}\n"),
];

/// Puts the first file under the second name.
type Replace = fn(&Path, &Path);

/// Ways to put a new file under a name.
const WAYS: &[(&str, Replace)] = &[
    ("renamed over it", |new, name| std::fs::rename(new, name).unwrap()),
    ("removed and made again", |new, name| {
        std::fs::remove_file(name).unwrap();
        std::fs::rename(new, name).unwrap();
    }),
    ("exchanged", exchange),
    ("linked anew", |new, name| {
        std::fs::remove_file(name).unwrap();
        std::fs::hard_link(new, name).unwrap();
        std::fs::remove_file(new).unwrap();
    }),
    ("renamed away and made again", |new, name| {
        std::fs::rename(name, name.with_extension("old~")).unwrap();
        std::fs::rename(new, name).unwrap();
    }),
    ("its directory exchanged", |new, name| {
        let folder = name.parent().unwrap();
        let twin = folder.with_file_name("twin~");
        std::fs::create_dir(&twin).unwrap();
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), twin.join(entry.file_name())).unwrap();
            }
        }
        std::fs::rename(new, twin.join(name.file_name().unwrap())).unwrap();
        exchange(&twin, folder);
        std::fs::remove_dir_all(twin).unwrap();
    }),
];

/// Waits until all was replaced and noticed, then tries to read, change, move and replace each.
fn script() -> String {
    let reach = |(name, _): &(&str, &str)| {
        format!(
            "cat {name}; echo evil >> {name}; (: > {name}); mv {name} {name}.moved; cat {name}.moved; \
             cp {name} {name}.copy; cat {name}.copy; ln {name} {name}.link; cat {name}.link; \
             echo evil > e; mv -f e {name}; rm -f {name}; "
        )
    };
    let all: String = NAMES.iter().map(reach).collect();
    format!("touch started; while ! [ -e replaced ]; do sleep 0.01; done; sleep 0.5; {all} true")
}

fn check(user: User, backend: &'static str, open: fn(&Ground, &str) -> Session) {
    assert!(works(user, backend), "{backend} as {user:?}");
    for (way, replace) in WAYS {
        let ground = Ground::new(user);
        for git in [".git", "nested/.git"] {
            ground.write(&format!("{git}/HEAD"), "ref: refs/heads/main\n");
            for name in ["objects/x", "refs/x"] {
                ground.write(&format!("{git}/{name}"), "");
            }
        }
        NAMES.iter().for_each(|(name, _)| ground.write(name, "old\n"));
        // Whoever exchanges the directory of a name in the root exchanges the workspace.
        let is_meant = |name: &str| !way.contains("directory") || name.starts_with("deep/inner");
        let names = || NAMES.iter().filter(|(name, _)| is_meant(name));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ground.at("w/started").exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                for (name, text) in names() {
                    let new = ground.at("w").join(format!("{name}.new~"));
                    std::fs::write(&new, text).unwrap();
                    own_all(&new, user);
                    replace(&new, &ground.at("w").join(name));
                }
                own_all(&ground.at("w"), user);
                std::fs::write(ground.at("w/replaced"), "").unwrap();
            });
            let answer = open(&ground, backend).run(&script());
            assert_eq!(answer["verdict"], "ran", "{backend} as {user:?}, {way}: {answer}");
            assert!(!answer.to_string().contains(CANARY), "{backend} as {user:?}, {way}: {answer}");
        });
        for (name, text) in names() {
            let found = std::fs::read_to_string(ground.at("w").join(name)).unwrap_or_default();
            assert_eq!(found, *text, "{backend} as {user:?}: {name}, {way}");
        }
    }
    println!("{} names in {} ways behind {backend} as {user:?}", NAMES.len(), WAYS.len());
}

#[test]
fn a_protected_name_that_is_replaced_from_outside_stays_protected_in_namespaces() {
    users().into_iter().for_each(|user| check(user, "namespaces", Ground::session));
}

#[test]
fn a_protected_name_that_is_replaced_from_outside_stays_protected_behind_bwrap() {
    users().into_iter().for_each(|user| check(user, "bwrap", Ground::session));
}

/// Any process of the person's can take all watches that the kernel has for them, a command too.
#[test]
fn a_name_that_is_replaced_stays_protected_where_the_kernel_gives_no_watches() {
    check(User::Own, "namespaces", Ground::session_without_watches);
}
