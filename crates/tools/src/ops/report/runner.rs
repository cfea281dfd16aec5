//! The test runner of a project, found by the names in its root, and its command line.

use jm_files::{Found, OpenDirectory, OpenFile, SafePath, Sandbox};
use jm_types::ToolError;

/// A larger manifest is not one.
const MOST_MANIFEST: u64 = 1024 * 1024;
/// The directories in which tests of Emacs Lisp are looked for.
const LISP_FOLDERS: &[&str] = &[".", "test", "tests"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Runner {
    /// The files that hold tests.
    Ert(Vec<String>),
    Cargo,
    Nextest,
    Go,
    /// The interpreter of the project's own environment, or nothing for the one on the path.
    Pytest(Option<String>),
    Node,
    /// The script that `package.json` names.
    Npm,
}

/// The directory in which tests are looked for.
struct Project<'a> {
    sandbox: &'a Sandbox,
    directory: &'a str,
}

impl Project<'_> {
    fn resolve(&self, path: &str) -> Result<SafePath, ToolError> {
        self.sandbox.resolve(&format!("{}/{path}", self.directory))
    }
}

/// The runner that a name in the project's root tells of.
const MANIFESTS: &[(&str, Runner)] = &[
    ("Cargo.toml", Runner::Cargo),
    ("go.mod", Runner::Go),
    ("package.json", Runner::Node),
    ("pyproject.toml", Runner::Pytest(None)),
    ("pytest.ini", Runner::Pytest(None)),
    ("setup.py", Runner::Pytest(None)),
    ("setup.cfg", Runner::Pytest(None)),
    ("tox.ini", Runner::Pytest(None)),
    ("conftest.py", Runner::Pytest(None)),
];

impl Runner {
    pub(super) fn detect(sandbox: &Sandbox, directory: &str) -> Result<Self, ToolError> {
        let project = &Project { sandbox, directory };
        let root = names(project, ".");
        let has = |name: &str| root.iter().any(|known| known == name);
        let lisp = lisp_tests(project);
        let by_manifest = MANIFESTS.iter().find(|(name, _)| has(name)).map(|(_, runner)| runner);
        match (by_manifest, lisp.is_empty()) {
            (Some(Runner::Cargo), _) if exists(project, ".config/nextest.toml") => {
                Ok(Runner::Nextest)
            }
            (Some(Runner::Cargo), _) => Ok(Runner::Cargo),
            (Some(Runner::Go), _) => Ok(Runner::Go),
            (_, false) => Ok(Runner::Ert(lisp)),
            (Some(Runner::Node), true) => Ok(node(project)),
            (Some(_), true) => Ok(pytest(project)),
            (None, true) => {
                match [".", "test", "tests"].iter().any(|folder| has_python_tests(project, folder))
                {
                    true => Ok(pytest(project)),
                    false => Err(unknown()),
                }
            }
        }
    }

    pub(super) fn command(&self, selector: Option<&str>) -> Result<Vec<String>, ToolError> {
        let is_option = selector.is_some_and(|selector| selector.starts_with('-'));
        if is_option && !matches!(self, Runner::Ert(_)) {
            return Err(ToolError::bad_args("selector names tests; it cannot begin with `-`"));
        }
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut command = match self {
            Runner::Ert(files) => return Ok(ert(files, selector)),
            Runner::Cargo => words(&["cargo", "test", "--no-fail-fast", "--color=never"]),
            Runner::Nextest => {
                words(&["cargo", "nextest", "run", "--no-fail-fast", "--color=never"])
            }
            Runner::Go => words(&["go", "test", "-json"]),
            Runner::Pytest(None) => words(&["pytest", "--color=no"]),
            Runner::Pytest(Some(python)) => words(&[python, "-m", "pytest", "--color=no"]),
            Runner::Node => words(&["node", "--test", "--test-reporter=tap"]),
            Runner::Npm => words(&["npm", "test", "--silent"]),
        };
        match (self, selector) {
            (Runner::Go, selector) => {
                command.extend(selector.map(|pattern| format!("-run={pattern}")));
                command.push("./...".to_owned());
            }
            (_, None) => {}
            (Runner::Pytest(_), Some(selector)) => {
                if !is_place(selector) {
                    command.push("-k".to_owned());
                }
                command.push(selector.to_owned());
            }
            (Runner::Node, Some(pattern)) => command.push(format!("--test-name-pattern={pattern}")),
            (Runner::Npm, Some(selector)) => command.extend(["--".to_owned(), selector.to_owned()]),
            (_, Some(filter)) => command.push(filter.to_owned()),
        }
        Ok(command)
    }
}

fn unknown() -> ToolError {
    ToolError::bad_args("no test runner is known for this project")
        .hint("give the runner as `command`, for example [\"make\", \"test\"]")
}

/// `tests/test_a.py::test_b`, as opposed to an expression.
fn is_place(selector: &str) -> bool {
    selector.contains("::") || selector.ends_with(".py") || selector.ends_with('/')
}

fn names(project: &Project<'_>, folder: &str) -> Vec<String> {
    let names = project.resolve(folder).and_then(|path| OpenDirectory::open(&path));
    let names = names.ok().and_then(|directory| directory.names().ok()).unwrap_or_default();
    names.into_iter().filter_map(|name| name.into_string().ok()).collect()
}

fn exists(project: &Project<'_>, path: &str) -> bool {
    project.resolve(path).is_ok_and(|path| path.found() == Found::File)
}

fn lisp_tests(project: &Project<'_>) -> Vec<String> {
    let is_test = |folder: &str, name: &str| {
        let stem = name.strip_suffix(".el");
        stem.is_some_and(|stem| {
            folder != "." && !stem.starts_with('.')
                || stem.ends_with("-test")
                || stem.ends_with("-tests")
                || stem.starts_with("test-")
        })
    };
    let mut files = Vec::new();
    for folder in LISP_FOLDERS {
        let found = names(project, folder).into_iter().filter(|name| is_test(folder, name));
        files.extend(
            found.map(|name| if *folder == "." { name } else { format!("{folder}/{name}") }),
        );
    }
    files
}

fn has_python_tests(project: &Project<'_>, folder: &str) -> bool {
    names(project, folder).iter().any(|name| {
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    })
}

/// In the environment that the project has, if it has one.
fn pytest(project: &Project<'_>) -> Runner {
    // Its interpreter is a link that leaves the workspace, so the folder is what is looked at.
    let own = [".venv", "venv"]
        .into_iter()
        .find(|folder| exists(project, &format!("{folder}/pyvenv.cfg")));
    Runner::Pytest(own.map(|folder| format!("{folder}/bin/python")))
}

/// Node's own runner, unless the project names another.
fn node(project: &Project<'_>) -> Runner {
    let read = || {
        let path = project.resolve("package.json").ok()?;
        let (bytes, _) = OpenFile::open(&path).ok()?.read_up_to(MOST_MANIFEST).ok()?;
        let manifest: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        manifest["scripts"]["test"].as_str().map(str::to_owned)
    };
    match read() {
        Some(script) if !script.contains("node --test") => Runner::Npm,
        Some(_) | None => Runner::Node,
    }
}

/// Loads every file of tests, then runs those that are selected: a Lisp selector, or a regular
/// expression of names.
fn ert(files: &[String], selector: Option<&str>) -> Vec<String> {
    let mut command = vec!["emacs".to_owned(), "-Q".to_owned(), "--batch".to_owned()];
    for folder in [".", "lisp", "src", "test", "tests"] {
        command.extend(["-L".to_owned(), folder.to_owned()]);
    }
    command.extend(["-l".to_owned(), "ert".to_owned()]);
    files.iter().for_each(|file| command.extend(["-l".to_owned(), file.clone()]));
    let selector = match selector {
        None => "t".to_owned(),
        Some(lisp) if lisp.starts_with(['(', ':']) || lisp == "t" => {
            format!("(read {})", lisp_string(lisp))
        }
        Some(pattern) => lisp_string(pattern),
    };
    command.extend(["--eval".to_owned(), format!("(ert-run-tests-batch-and-exit {selector})")]);
    command
}

fn lisp_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
