//! Kept, hidden and shown names of trees that people have.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use super::super::repositories::work_tree_of;
use super::super::survey::WorkspaceSurvey;
use super::*;
use crate::contract::confinement_rules::KeptPresence;
use jm_files::SandboxSettings;

fn check(make: &[&str], kept: &[(&str, KeptPresence)], hidden: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in make {
        let path = root.join(name.trim_end_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with('/') {
            std::fs::create_dir_all(path).unwrap()
        } else {
            std::fs::write(path, "").unwrap()
        }
    }
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(&root)).unwrap();
    let plan = plan(
        &sandbox,
        &WorkspaceSurvey::default().names(&sandbox),
        &CommandSettings::default(),
        Backend::Namespaces,
        &[],
    );
    let mut found: Vec<_> = plan.rules.kept.iter().map(|k| (k.path.clone(), k.now)).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected: Vec<_> = kept.iter().map(|(name, now)| (root.join(name), *now)).collect();
    assert_eq!(found, expected, "{make:?}");
    let mut found: Vec<_> = plan.rules.hidden.iter().filter(|p| p.starts_with(&root)).collect();
    found.sort();
    let expected: Vec<_> = hidden.iter().map(|name| root.join(name)).collect();
    assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{make:?}");
}

#[test]
fn what_the_file_tools_refuse_is_kept_or_hidden() {
    use KeptPresence::{MissingDirectory, MissingFile, Present};
    check(&[], &[(".journeyman", MissingDirectory)], &[]);
    let cases = [(".git/config", MissingFile), (".git/hooks", Present), (".journeyman", Present)];
    check(&[".git/hooks/", ".journeyman/config.toml"], &cases, &[]);
    check(
        &["sub/.vscode/tasks.json", "sub/.env", "a/b/id_rsa", "src/main.rs", ".envrc"],
        &[(".envrc", Present), (".journeyman", MissingDirectory), ("sub/.vscode", Present)],
        &["a/b/id_rsa", "sub/.env"],
    );
}

/// Every step is kept, and at its end what runs; a repository stays one that can be worked in.
#[test]
fn a_link_is_kept_with_what_it_leads_to() {
    use KeptPresence::Present;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let outside = tempfile::tempdir().unwrap();
    for name in ["tools/hooks", "git/hooks", "sub", "sub/deep"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    let links = [
        (".husky", "step"),
        ("step", "tools/hooks"),
        (".envrc", "nowhere"),
        (".git", "git"),
        (".vscode", outside.path().to_str().unwrap()),
        ("sub/deep/.idea", ".."),
    ];
    for (name, target) in links {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    }
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(&root)).unwrap();
    let plan = plan(
        &sandbox,
        &WorkspaceSurvey::default().names(&sandbox),
        &CommandSettings::default(),
        Backend::Bwrap,
        &[],
    );
    let mut kept: Vec<_> = plan.rules.kept.iter().map(|k| (k.path.clone(), k.now)).collect();
    kept.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        (".envrc", Present),
        (".git", Present),
        (".husky", Present),
        (".journeyman", KeptPresence::MissingDirectory),
        (".vscode", Present),
        ("git/config", KeptPresence::MissingFile),
        ("git/hooks", Present),
        ("step", Present),
        ("sub/deep/.idea", Present),
        ("tools/hooks", Present),
    ];
    assert_eq!(kept, expected.map(|(name, now)| (root.join(name), now)));
    assert!(plan.gaps.is_empty(), "{:?}", plan.gaps);
}

#[test]
fn programs_of_the_project_are_its_own_and_those_of_a_home_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["real/bin", "home/real"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    for (target, name) in [("real", "environment"), ("real", "home/bin")] {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    }
    let seen = |roots: &[&str]| {
        let path = ["environment/bin", "home/bin"].map(|name| root.join(name));
        let path = std::env::join_paths(path).unwrap();
        let home = root.join("home");
        let environment = [("PATH", path), ("HOME", home.clone().into())];
        let roots: Vec<PathBuf> = roots.iter().map(|name| root.join(name)).collect();
        let mut found = programs(&roots, Some(&home), NamedToolchains::of(&environment).readable());
        found.retain(|path| path.starts_with(&root));
        found
    };
    let at = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
    assert_eq!(seen(&["elsewhere"]), at(&["environment/bin", "home/bin"]));
    assert_eq!(seen(&["environment"]), at(&["home/bin"]));
    assert_eq!(seen(&["home"]), at(&["environment/bin", "home/real"]));
}

#[test]
fn a_worktree_opens_its_repository_only_when_that_knows_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let private = root.join("main/.git/worktrees/w");
    std::fs::create_dir_all(&private).unwrap();
    std::fs::create_dir(root.join("w")).unwrap();
    let file = root.join("w/.git");
    std::fs::write(&file, format!("gitdir: {}\n", private.display())).unwrap();
    assert_eq!(work_tree_of(&file), None);
    std::fs::write(private.join("gitdir"), format!("{}\n", file.display())).unwrap();
    assert_eq!(work_tree_of(&file), Some(root.join("main/.git")));
    std::fs::write(&file, "gitdir: /etc\n").unwrap();
    assert_eq!(work_tree_of(&file), None);
}
