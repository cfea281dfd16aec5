//! Directories whose modes keep us from looking into them, closed by one command and opened by the next.

use std::os::unix::fs::PermissionsExt;

use crate::ground::Ground;
use crate::world::{CANARY, User, users, works};

/// Every way in which a directory may refuse to be listed, entered or written, and bits that mean
/// something else.
const MODES: &[u32] =
    &[0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600, 0o111, 0o333, 0o1300, 0o1500, 0o1700];

/// The denied and the protected file of each directory, and where they lie deeper.
const HELD: &[(&str, &str)] = &[
    (".env", CANARY),
    (".envrc", "true"),
    (".vscode/tasks.json", "{}"),
    ("inner/.env", CANARY),
    ("inner/.envrc", "true"),
];

fn directory(mode: u32) -> String {
    format!("m{mode:o}")
}

/// All modes in one command, all attempts in the next.
fn check(user: User, backend: &'static str) {
    assert!(works(user, backend), "{backend} as {user:?}");
    let ground = Ground::new(user);
    for mode in MODES {
        for (name, content) in HELD {
            ground.write(&format!("{}/{name}", directory(*mode)), content);
        }
    }
    let mut session = ground.session(backend);
    let close: String =
        MODES.iter().map(|mode| format!("chmod {mode:o} {}; ", directory(*mode))).collect();
    let closed = session.run(&format!("{close} true"));
    assert_eq!(closed["verdict"], "ran", "{backend} as {user:?}: {closed}");
    let reach = |mode: &u32| {
        let d = directory(*mode);
        format!(
            "chmod -R 755 {d}; cat {d}/.env {d}/inner/.env; cp -r {d} {d}.copy; mv {d} {d}.moved; \
             cat {d}.*/.env {d}.*/inner/.env; echo evil > {d}/.vscode/tasks.json; \
             echo evil > {d}/inner/.envrc; echo evil > {d}/.envrc; touch e; mv -f e {d}/.envrc; rm -rf {d}/.vscode; "
        )
    };
    let said = session.run(&format!("{} true", MODES.iter().map(reach).collect::<String>()));
    assert_eq!(said["verdict"], "ran", "{backend} as {user:?}: {said}");
    assert!(!said.to_string().contains(CANARY), "{backend} as {user:?}: {said}");
    for mode in MODES {
        let place = ground.at("w").join(directory(*mode));
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
        for (name, content) in HELD {
            let found = std::fs::read_to_string(place.join(name)).unwrap_or_default();
            assert_eq!(found, *content, "{backend} as {user:?}: {name} of mode {mode:o}");
        }
    }
    println!("{} attempts behind {backend} as {user:?}", MODES.len() * HELD.len());
}

#[test]
fn what_a_directory_of_any_mode_holds_stays_hidden_and_as_it_was_in_namespaces() {
    users().into_iter().for_each(|user| check(user, "namespaces"));
}

#[test]
fn what_a_directory_of_any_mode_holds_stays_hidden_and_as_it_was_behind_bwrap() {
    users().into_iter().for_each(|user| check(user, "bwrap"));
}
