//! CONT: bytes outside an edit are the same afterwards, whatever they are.

mod bytes;
mod patches;
mod reading;

use jm_files::{NoLog, Opening};
use jm_tools::ops::change::{Change, ChangeRules, Edit, FileEdit, FreshnessRule, NewText};
use jm_types::Freshness;
use jm_types::ToolError;

use crate::world::{Setting, World, quick_disk};

const PATH: &str = "edited";

fn world(opening: Opening) -> World {
    World::with(Setting { disk: quick_disk(), ..Setting::new(opening) })
}

/// The bytes after an edit; after a refusal the file is as it was.
fn edited(world: &World, before: &[u8], edit: Edit) -> Result<Vec<u8>, ToolError> {
    world.write(PATH, before);
    let files = vec![FileEdit { path: PATH.to_owned(), edit }];
    let change = Change::new(files, FreshnessRule::NotRequired);
    // What is spliced is exact whatever it is; what a text may be is shown apart.
    let rules = ChangeRules { new_text: NewText::Raw, ..change.rules };
    let change = Change { rules, ..change };
    let outcome = change.run(&world.scope(Freshness::default()), &mut NoLog);
    let after = world.file(PATH);
    outcome.map(|_| after.clone()).inspect_err(|_| assert_eq!(after, before, "a refusal"))
}
