//! Processes in the background, behind each back end: whoever dies first, nothing stays behind, and what
//! happened is told truthfully.

pub(crate) mod desk;
mod ends;
mod published;
mod terminals;

use crate::world::{User, World, users, works};

/// Every back end that works here.
fn everywhere(check: impl Fn(World)) {
    behind_each(User::Own, check);
}

/// For everybody that the tests can be.
fn everywhere_for_everybody(check: impl Fn(World)) {
    users().into_iter().for_each(|user| behind_each(user, &check));
}

fn behind_each(user: User, check: impl Fn(World)) {
    let mut checked = Vec::new();
    for backend in ["namespaces", "bwrap", "landlock", "none"] {
        if backend == "none" || works(user, backend) {
            check(World::new(user, backend));
            checked.push(backend);
        }
    }
    println!("{user:?}: checked behind {checked:?}");
}
