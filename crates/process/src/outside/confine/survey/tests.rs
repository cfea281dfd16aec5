//! Changes of a tree between two looks: names that come, go, move and change their kind.

use jm_files::SandboxSettings;

use super::*;

struct Tree {
    scratch: tempfile::TempDir,
    sandbox: Sandbox,
    survey: WorkspaceSurvey,
}

impl Tree {
    fn new(folders: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        folders.iter().for_each(|folder| std::fs::create_dir_all(root.join(folder)).unwrap());
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(&root)).unwrap();
        // Small as it is, it is watched.
        let survey = WorkspaceSurvey { few: 0, ..WorkspaceSurvey::default() };
        Self { scratch, sandbox, survey }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.scratch.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str) {
        std::fs::write(self.at(path), "x").unwrap();
    }

    /// Names found with the help of what was found before must be those that a walk finds.
    #[track_caller]
    fn check(&self, expected: &[&str]) {
        let found = self.survey.names(&self.sandbox);
        let root = self.at("");
        let shown: Vec<_> =
            found.paths.iter().map(|path| path.strip_prefix(&root).unwrap()).collect();
        assert_eq!(shown, expected.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(found.paths, WorkspaceSurvey::default().names(&self.sandbox).paths);
        assert!(self.is_remembered(), "it would be walked again");
    }

    fn is_remembered(&self) -> bool {
        self.survey.known.lock().unwrap().is_some()
    }
}

#[test]
fn names_that_come_and_go_are_found_without_another_walk() {
    let tree = Tree::new(&["a/b/c", "d"]);
    tree.write("a/b/c/.env");
    tree.check(&["a/b/c/.env"]);
    tree.write("d/x.pem");
    tree.write("d/plain");
    tree.check(&["a/b/c/.env", "d/x.pem"]);
    std::fs::create_dir_all(tree.at("new/deep")).unwrap();
    tree.write("new/deep/.netrc");
    tree.check(&["a/b/c/.env", "d/x.pem", "new/deep/.netrc"]);
    std::fs::remove_file(tree.at("d/x.pem")).unwrap();
    std::fs::remove_dir_all(tree.at("new")).unwrap();
    tree.check(&["a/b/c/.env"]);
}

#[test]
fn a_renamed_directory_is_followed_wherever_it_goes() {
    let tree = Tree::new(&["a/b", "other"]);
    let outside = tempfile::tempdir_in(tree.at("..")).unwrap();
    tree.write("a/b/.env");
    tree.check(&["a/b/.env"]);
    std::fs::rename(tree.at("a"), tree.at("other/z")).unwrap();
    tree.write("other/z/b/k.key");
    tree.check(&["other/z/b/.env", "other/z/b/k.key"]);
    // Out of the tree, where it is still watched, and another one in its place.
    std::fs::rename(tree.at("other/z"), outside.path().join("z")).unwrap();
    std::fs::create_dir_all(tree.at("other/z/b")).unwrap();
    tree.write("other/z/b/.env");
    tree.check(&["other/z/b/.env"]);
    std::fs::remove_dir_all(outside.path().join("z")).unwrap();
    tree.check(&["other/z/b/.env"]);
    std::fs::rename(tree.at("other"), tree.at(".ssh")).unwrap();
    tree.check(&[".ssh"]);
}

#[test]
fn a_directory_that_becomes_git_s_own_is_found() {
    let tree = Tree::new(&["bare/objects", "bare/refs"]);
    tree.check(&[]);
    tree.write("bare/HEAD");
    tree.check(&["bare"]);
}

/// Another root in its place, and other patterns, are another ground.
#[test]
fn a_replaced_root_is_walked_again() {
    let tree = Tree::new(&["w"]);
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(tree.at("w"))).unwrap();
    assert!(tree.survey.names(&sandbox).paths.is_empty());
    std::fs::rename(tree.at("w"), tree.at("old")).unwrap();
    std::fs::create_dir(tree.at("w")).unwrap();
    tree.write("w/.env");
    assert_eq!(tree.survey.names(&sandbox).paths, BTreeSet::from([tree.at("w/.env")]));
}

#[test]
fn a_small_tree_is_not_watched() {
    let mut tree = Tree::new(&["a"]);
    tree.survey = WorkspaceSurvey::default();
    tree.write("a/.env");
    assert_eq!(tree.survey.names(&tree.sandbox).paths, [tree.at("a/.env")].into());
    assert!(!tree.is_remembered());
    (0..FEW_NAMES).for_each(|number| tree.write(&format!("a/{number}")));
    tree.check(&["a/.env"]);
}

#[test]
fn denied_names_are_found_inside_protected_directories() {
    let tree = Tree::new(&[".vscode/deep", "a/.git/objects/ab", "a/.git/hooks"]);
    for path in [".vscode/deep/.env", "a/.git/credentials", "a/.git/objects/ab/.env", "a/.git/HEAD"]
    {
        tree.write(path);
    }
    let known = [".vscode", ".vscode/deep/.env", "a/.git", "a/.git/credentials"];
    tree.check(&known);
    tree.write(".vscode/id_rsa");
    std::fs::create_dir_all(tree.at("b/.husky/x")).unwrap();
    tree.write("b/.husky/x/k.key");
    let mut all = [&known[..], &[".vscode/id_rsa", "b/.husky", "b/.husky/x/k.key"]].concat();
    all.sort_by_key(|path| PathBuf::from(path));
    tree.check(&all);
    std::fs::remove_dir_all(tree.at("b")).unwrap();
    std::fs::remove_file(tree.at(".vscode/id_rsa")).unwrap();
    tree.check(&known);
}

/// They lead to files that run as well; those among git's references do not.
#[test]
fn links_are_found_inside_protected_directories() {
    let tree = Tree::new(&[".vscode/1/2/3/4", "a/.git/refs", "src"]);
    let link = |path: &str| std::os::unix::fs::symlink("target", tree.at(path)).unwrap();
    ["src/x", ".vscode/1/2/3/x", ".vscode/1/2/3/4/x", "a/.git/refs/x"].into_iter().for_each(link);
    tree.check(&[".vscode", ".vscode/1/2/3/x", "a/.git"]);
    ["src/y", ".vscode/y", "a/.git/refs/y"].into_iter().for_each(link);
    tree.check(&[".vscode", ".vscode/1/2/3/x", ".vscode/y", "a/.git"]);
}
