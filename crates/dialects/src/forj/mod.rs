//! `forj`: the tools of an agent inside Emacs, with backups, dry runs and a check of brackets.
//!
//! Unknown arguments are ignored, as its document says (FJ-PROTO-01).

mod commands;
mod encoding;
mod envelope;
mod files;
mod meta;
mod tasks;
mod tree;

use jm_files::PathPolicy;
use jm_tools::toolsets::tasks::{lower_task, lower_todo};
use jm_tools::toolsets::{Dialect, Row, SchemaOf, Stakes, Translate};
use jm_types::Toolset;

/// The toolset `forj`.
pub static FORJ: Dialect = Dialect {
    toolset: Toolset::Forj,
    rows: ROWS,
    borrowed: &[],
    envelope: envelope::ENVELOPE,
    paths: PathPolicy::CLEAN,
    timeout: None,
};

const ROWS: &[Row] = &[
    Row {
        name: "edit_region",
        description: "Replace the lines start_line to end_line (from 1, both included) of a file. With \
            `expected`, the lines must still be that text. With dry_run nothing is written.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/edit_region.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, files::lower_edit_region),
            raise: files::raise_edit_region,
        },
    },
    Row {
        name: "glob",
        description: "Find files by globs, past what is ignored; a pattern without a slash counts at any depth, \
            ** crosses directories, {a,b} is either.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/glob.json")),
        stakes: Stakes::READS,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, tree::lower_glob),
            raise: tree::raise_glob,
        },
    },
    Row {
        name: "list_files",
        description: "List what lies below a directory, five levels deep unless max_depth says otherwise, past \
            what is ignored.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/list_files.json")),
        stakes: Stakes::READS,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, tree::lower_list_files),
            raise: tree::raise_list_files,
        },
    },
    Row {
        name: "multi_edit",
        description: "Replace several ranges of lines in one or more files. Edits apply in order, each \
            on the result of the one before it. A file changes with all of its edits or not at all; \
            with stop_on_error (the default) one failure leaves every file as it was.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/multi_edit.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, files::lower_multi_edit),
            raise: files::raise_multi_edit,
        },
    },
    Row {
        name: "read_file",
        description: "Read a text file of the project, whole or the lines start_line to end_line with \
            include_context lines around them.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/read_file.json")),
        stakes: Stakes::READS,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, files::lower_read_file),
            raise: files::raise_read_file,
        },
    },
    Row {
        name: "run_shell",
        description: "Run a program with arguments in the project, no shell between; for a shell's \
            syntax run [\"sh\", \"-c\", \"…\"]. It has no network. What may change anything needs the \
            user's approval.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/run_shell.json")),
        stakes: Stakes::RUNS,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, commands::lower_run_shell),
            raise: commands::raise_run_shell,
        },
    },
    Row {
        name: "run_tests",
        description: "Run the project's tests (ERT, cargo, pytest, go or node, as the project has them) \
            or a test command, and count the results.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/run_tests.json")),
        stakes: Stakes::RUNS,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, commands::lower_run_tests),
            raise: commands::raise_run_tests,
        },
    },
    Row {
        name: "search",
        description: "Search the project for a text or a regular expression; every match, with the rest of its \
            line. Case does not matter unless case_sensitive is true.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/search.json")),
        stakes: Stakes::READS,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, tree::lower_search),
            raise: tree::raise_search,
        },
    },
    Row {
        name: "task",
        description: "Keep work items with subtasks, acceptance criteria, priority, links and notes. \
            They are kept outside the project; `export` writes them to a file and needs approval.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/task.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, lower_task),
            raise: tasks::raise,
        },
    },
    Row {
        name: "todo_write",
        description: "Keep a list of small things to do, each with an optional note, labels and a place \
            in the code. It is kept outside the project; `export` writes it to a file and needs \
            approval.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/todo_write.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, lower_todo),
            raise: tasks::raise,
        },
    },
    Row {
        name: "write_file",
        description: "Write a whole file, or append to it. The old content is backed up. Emacs Lisp \
            with unbalanced brackets is refused. With dry_run nothing is written.",
        schema: SchemaOf::Document(include_str!("../schemas/forj/write_file.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate {
            lower: |args, limits| meta::within(args, limits, files::lower_write_file),
            raise: files::raise_write_file,
        },
    },
];
