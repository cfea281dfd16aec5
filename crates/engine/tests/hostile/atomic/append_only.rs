//! A directory in which names can be made and never changed (`chattr +a`).

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::tree::{leftovers, tree};
use crate::world::{OPENINGS, World};

/// Such a directory, until the end of the test: otherwise nobody could remove it.
struct AppendOnly(PathBuf);

impl AppendOnly {
    fn new(path: PathBuf) -> Self {
        assert!(chattr("+a", &path), "{}", path.display());
        Self(path)
    }
}

impl Drop for AppendOnly {
    fn drop(&mut self) {
        chattr("-a", &self.0);
    }
}

fn chattr(flag: &str, path: &Path) -> bool {
    Command::new("chattr").arg(flag).arg(path).output().is_ok_and(|ran| ran.status.success())
}

#[test]
fn an_append_only_directory_is_refused_before_anything_is_made_in_it() {
    if !jm_testing::has("append_only") {
        return;
    }
    for opening in OPENINGS {
        let mut world = World::new(opening);
        world.write("log/kept", "old\n");
        world.write("free", "old\n");
        let _guard = AppendOnly::new(world.root.join("log"));
        world.read("log/kept");
        world.read("free");
        let made = world.call("write_file", json!({"path": "log/new", "content": "x"}));
        let changed = world.patch("LP1\nF log/kept\nT\nmore\n.\nF free\nT\nmore\n.\nEND\n");
        for (result, path) in [(made, "log/new"), (changed, "log/kept")] {
            let said = format!("{path}: its directory is append-only");
            assert!(result.content.contains(&said), "{}", result.content);
        }
        assert_eq!(leftovers(&tree(&world.root, None)), Vec::<&PathBuf>::new());
        assert_eq!(
            (world.file("free"), world.file("log/kept")),
            (b"old\n".into(), b"old\n".into())
        );
    }
}
