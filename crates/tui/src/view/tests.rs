//! Pictures of every block and panel at three sizes, kept in `tests/pictures`; a changed picture
//! fails, and `JM_PICTURES=write` makes them anew.

use std::path::PathBuf;

use jm_types::{AlwaysOffer, ApprovalQuestion, CallQuestion, OfferedScope, RiskLevel};

use super::view;
use crate::app::{App, update};
use crate::block::call::{End, Outcome};
use crate::block::{Note, Waiting};
use crate::key::{Input, Key};
use crate::msg::{Effect, Msg, NewCall, PickRow, Picking, TurnEnd};
use crate::panel::question::{PanelChoice, PanelQuestion};
use crate::status::Status;
use crate::text::Line;

const SIZES: [(usize, usize); 3] = [(80, 24), (40, 12), (200, 60)];

const ANSWER: &str = "# Plan\n\nThe *failing* test is in `src/lib.rs`; see [the docs](https://a.b/c). \
This paragraph is long enough to be wrapped by a terminal of eighty columns, and is left to it.\n\n\
- first\n- second\n\n```rust\nfn main() {}\n```\n\n| name | what it does |\n|---|---|\n| a | one |\n\n";

const DIFF: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-    let port = 80;\n+    let port = 8080;\n }\n";

struct World {
    app: App,
    printed: Vec<Line>,
}

impl World {
    fn new((width, height): (usize, usize)) -> Self {
        let status = Status {
            model: "anthropic/claude".into(),
            root: "~/work".into(),
            confinement: "sandbox on".into(),
            approval: "prompt".into(),
            context_percent: Some(12),
            tokens_in: 34_500,
            tokens_out: 830,
            cost: Some(0.02),
            ..Status::default()
        };
        let mut world = Self { app: App::new(status), printed: Vec::new() };
        world.hear(Msg::Size { width, height });
        world
    }

    fn hear(&mut self, msg: Msg) {
        self.app.clock += 1_000;
        for effect in update(&mut self.app, msg) {
            if let Effect::Print(lines) = effect {
                self.printed.extend(lines);
            }
        }
    }

    fn keys(&mut self, keys: &[Key]) {
        keys.iter().for_each(|key| self.hear(Msg::Input(Input::Key(*key))));
    }

    fn typed(&mut self, text: &str) {
        text.chars().for_each(|c| self.keys(&[Key::Char(c)]));
    }

    fn picture(&self) -> String {
        let mut text = String::new();
        for line in &self.printed {
            text.push_str(&format!("  {}\n", line.plain()).replace("  \n", "\n"));
        }
        let frame = view(&self.app);
        text.push_str("── live ──\n");
        for (number, row) in frame.rows.iter().enumerate() {
            assert!(row.width() < self.app.width, "too wide: {}", row.plain());
            let plain = row.plain();
            let caret = frame.caret.filter(|caret| caret.row == number);
            let at = caret.map(|caret| format!("  ◂{}", caret.column)).unwrap_or_default();
            text.push_str(&format!("  {}{at}\n", plain.trim_end()));
        }
        let limit = if self.app.panel.is_some() || frame.is_full {
            self.app.height
        } else {
            self.app.height / 2
        };
        assert!(frame.rows.len() <= limit.max(4), "{} rows", frame.rows.len());
        text
    }
}

fn call(id: &str, name: &str, arguments: &str) -> NewCall {
    NewCall {
        id: id.into(),
        key: format!("s-{id}"),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn done(id: &str, outcome: Outcome, display: &str, diff: Option<&str>) -> Msg {
    let end = End { outcome, seconds: 3.4, display: display.into() };
    Msg::CallDone { id: id.into(), end, diff: diff.map(str::to_owned) }
}

fn turn(world: &mut World) {
    world.hear(Msg::TurnBegins { prompt: "fix the test\nplease".into() });
}

fn question(risks: &[RiskLevel]) -> Msg {
    let call = |(place, risk): (usize, &RiskLevel)| CallQuestion {
        reason: "modifies files".into(),
        warnings: vec!["runs later: build.rs".into()],
        preview: Some(DIFF.into()),
        ..CallQuestion::new(
            &(place + 1).to_string(),
            "write_file",
            "Write src/lib.rs (12 bytes)",
            *risk,
        )
    };
    let calls = risks.iter().enumerate().map(call).collect();
    Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None }))
}

/// A batch with more calls than there are digits.
fn many(count: usize) -> ApprovalQuestion {
    let call = |number: usize| {
        let (id, summary) = (number.to_string(), format!("Write src/{number}.rs (12 bytes)"));
        CallQuestion {
            reason: "modifies files".into(),
            ..CallQuestion::new(&id, "write_file", &summary, RiskLevel::Medium)
        }
    };
    ApprovalQuestion { calls: (1..=count).map(call).collect(), diff: None }
}

/// A diff that is longer than the largest of the screens.
fn long() -> Msg {
    let added: String = (1..=70).map(|number| format!("+line {number}\n")).collect();
    let preview = Some(format!("--- /dev/null\n+++ b/src/long.rs\n@@ -0,0 +1,70 @@\n{added}"));
    let asked = CallQuestion::new("1", "write_file", "Create src/long.rs", RiskLevel::Medium);
    let calls = vec![CallQuestion { preview, reason: "modifies files".into(), ..asked }];
    Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None }))
}

type Scene = (&'static str, fn(&mut World));

const SCENES: &[Scene] = &[
    ("empty", |_| {}),
    ("typing", |world| {
        world.typed("a prompt that is longer than forty columns, to see it wrapped")
    }),
    ("answer", |world| {
        turn(world);
        world.hear(Msg::Thinking("I look first.\nThen more.".into()));
        world.hear(Msg::Text(ANSWER.into()));
        world.hear(Msg::Text("It streams now, a paragraph that has no end yet".into()));
        world.hear(Msg::Tick);
    }),
    ("waiting_for_the_model", turn),
    ("calls", |world| {
        turn(world);
        world.hear(Msg::Calls(vec![
            call("1", "read_file", r#"{"path":"src/main.rs","start_line":1,"end_line":40}"#),
            call("2", "edit_file", r#"{"path":"src/lib.rs"}"#),
            call("3", "run_command", r#"{"command":"cargo test"}"#),
            call("4", "run_command", r#"{"command":"rm -rf /"}"#),
            call("5", "search", r#"{"pattern":"port","path":"src"}"#),
        ]));
        world.hear(done("1", Outcome::Completed, &"x".repeat(1_229), None));
        world.hear(done("2", Outcome::Completed, "ok", Some(DIFF)));
        world.hear(done("3", Outcome::Failed, "exit code 101\none\ntwo\n", None));
        let denied = Outcome::Denied { reason: "denied: not now".into() };
        world.hear(done("4", denied, "denied", None));
        let hits: String = (0..30).map(|number| format!("src/{number}.rs: port\n")).collect();
        world.hear(done("5", Outcome::Completed, &hits, None));
        world.hear(Msg::TurnEnds(TurnEnd::Finished));
    }),
    ("running", |world| {
        turn(world);
        world.hear(Msg::Calls(vec![
            call("1", "run_command", r#"{"command":"make all"}"#),
            call("2", "read_file", r#"{"path":"a"}"#),
        ]));
        world.hear(Msg::CallStarted { id: "1".into() });
        let chunk: String = (1..=60).map(|number| format!("compiling {number}\n")).collect();
        world.hear(Msg::Output { id: "1".into(), chunk });
        world.typed("next");
        world.keys(&[Key::Enter]);
    }),
    ("approval_of_one", |world| {
        turn(world);
        world.hear(question(&[RiskLevel::Medium]));
    }),
    ("approval_of_two", |world| {
        turn(world);
        world.hear(question(&[RiskLevel::High, RiskLevel::Low]));
        world.keys(&[Key::Char('2')]);
    }),
    ("approval_of_fourteen", |world| {
        turn(world);
        world.hear(Msg::Approval(Box::new(many(14))));
    }),
    ("approval_numbers", |world| {
        turn(world);
        world.hear(Msg::Approval(Box::new(many(14))));
        world.typed("2,11-13");
        world.keys(&[Key::Enter, Key::Char('3')]);
        world.typed("9");
        world.keys(&[Key::Enter]);
    }),
    ("approval_long", |world| {
        turn(world);
        world.hear(long());
    }),
    ("approval_long_too_early", |world| {
        turn(world);
        world.hear(long());
        world.keys(&[Key::Char(' '), Key::Char('y')]);
    }),
    ("approval_long_left", |world| {
        turn(world);
        world.hear(long());
        world.keys(&[Key::Escape]);
    }),
    ("approval_to_keep_many", |world| {
        turn(world);
        let asked = CallQuestion::new("1", "run_command", "make install", RiskLevel::High);
        let names = (1..=90).map(|number| format!("created share/{number}.txt\n")).collect();
        let fingerprint = "keep 7".to_owned();
        let calls = vec![CallQuestion { preview: Some(names), fingerprint, ..asked }];
        world.hear(Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None })));
        (0..9).for_each(|_| world.keys(&[Key::PageDown]));
    }),
    ("approval_reason", |world| {
        turn(world);
        world.hear(question(&[RiskLevel::Medium]));
        world.keys(&[Key::Char('n')]);
        world.typed("too much");
    }),
    ("approval_help", |world| {
        turn(world);
        world.hear(question(&[RiskLevel::Low]));
        world.keys(&[Key::Char('?')]);
    }),
    ("approval_always", |world| {
        turn(world);
        let offer = |scope| AlwaysOffer { rules: vec!["write_file: src/**".into()], scope };
        let always = [OfferedScope::Session, OfferedScope::Project].map(offer).to_vec();
        let asked = CallQuestion::new("1", "write_file", "Write src/lib.rs", RiskLevel::Medium);
        let calls = vec![CallQuestion { always, ..asked }];
        world.hear(Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None })));
        world.keys(&[Key::Char('a')]);
    }),
    ("approval_bad_edit", |world| {
        turn(world);
        let asked = CallQuestion::new("1", "write_file", "Write src/lib.rs", RiskLevel::Medium);
        let calls = vec![CallQuestion { can_edit: true, arguments: "{}".into(), ..asked }];
        world.hear(Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None })));
        world.keys(&[Key::Char('e')]);
        world.hear(Msg::Edited("{".into()));
    }),
    ("approval_to_keep", |world| {
        turn(world);
        let asked = CallQuestion::new("1", "run_command", "make install", RiskLevel::High);
        let calls = vec![CallQuestion {
            reason: "names that something runs later changed".into(),
            warnings: vec![".git/hooks/pre-commit: git runs it".into()],
            preview: Some("created .git/hooks/pre-commit\nchanged Makefile\n".into()),
            fingerprint: "keep 7".into(),
            ..asked
        }];
        world.hear(Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None })));
    }),
    ("approval_while_typing", |world| {
        turn(world);
        world.typed("and then");
        world.hear(question(&[RiskLevel::Medium]));
    }),
    ("approval_in_full", |world| {
        turn(world);
        world.hear(question(&[RiskLevel::High, RiskLevel::Low]));
        world.keys(&[Key::Char('d')]);
    }),
    ("rewind", |world| {
        let choices = vec![
            PanelChoice::new('b', "both"),
            PanelChoice::new('c', "conversation only"),
            PanelChoice::new('f', "files only"),
            PanelChoice::new('q', "neither"),
        ];
        let title = "Go back to before this prompt: which part?".into();
        let facts = vec![Line::text("  fix the test"), Line::text("  changed since: src/lib.rs")];
        world.hear(Msg::Question(PanelQuestion { id: 1, title, facts, choices }));
    }),
    ("greeting", |world| {
        let lines = crate::block::greeting("0.1.0", "anthropic/claude", "~/work");
        world.hear(Msg::Lines(lines));
    }),
    ("rows", |world| {
        world.typed("/tools");
        world.keys(&[Key::Enter, Key::Enter]);
        let row = |name: &str, what: &str| (name.to_owned(), what.to_owned());
        let long = "Search the contents of files, every match with its line and column. ".repeat(3);
        world.hear(Msg::Rows(vec![row("search", &long), row("todo_write", "Keep a list.")]));
    }),
    ("retrying", |world| {
        turn(world);
        world.hear(Msg::Retrying { wait_ms: 4_000, why: "The server is overloaded".into() });
    }),
    ("thinking", |world| {
        turn(world);
        world.hear(Msg::Thinking("The port is read twice. ".repeat(20)));
    }),
    ("writing_a_call", |world| {
        turn(world);
        world.hear(Msg::CallWriting { name: "write_file".into() });
    }),
    ("stopping", |world| {
        turn(world);
        world.keys(&[Key::Escape]);
    }),
    ("queue", |world| {
        turn(world);
        for text in ["first", "second", "third"] {
            world.typed(text);
            world.keys(&[Key::Enter]);
        }
    }),
    ("shell", |world| world.typed("!cargo test")),
    ("lines", |world| {
        world.typed("one\\");
        world.keys(&[Key::Enter]);
        world.typed("two, which is long enough to be broken on a narrow screen of forty columns");
    }),
    ("recovery", |world| {
        let choices = vec![
            PanelChoice::new('k', "keep the results"),
            PanelChoice::new('d', "discard them"),
            PanelChoice::new('u', "undo their changes"),
            PanelChoice::new('l', "leave it"),
        ];
        let title = "A crash interrupted 1 call(s) of this session".into();
        let facts =
            vec![Line::text("s-3 write_file: completed"), Line::text("  a.txt: new content")];
        world.hear(Msg::Question(PanelQuestion { id: 1, title, facts, choices }));
    }),
    ("parse_only", |world| {
        let (id, name) = ("call_1".into(), "read_file".into());
        let arguments = r#"{"path":"a.txt"}"#.into();
        world.hear(Msg::Waiting(vec![Waiting { id, name, arguments }]));
    }),
    ("notes", |world| {
        world.hear(Msg::Note(Note::info("Resumed: 12 messages")));
        let off = Note::warning("Commands are off in this project");
        world.hear(Msg::Note(off.hint("start with `--allow run_command`")));
        world.hear(Msg::Note(Note::error("The server is overloaded")));
    }),
    ("commands", |world| world.typed("/re")),
    ("files", |world| {
        world.typed("look at @ma");
        world.hear(Msg::Files(vec!["src/main.rs".into(), "docs/manual.md".into(), "x.c".into()]));
    }),
    ("pager", |world| {
        turn(world);
        world.hear(Msg::Text(ANSWER.into()));
        world.hear(Msg::TurnEnds(TurnEnd::Finished));
        world.keys(&[Key::Ctrl('t'), Key::Home]);
    }),
    ("sessions", |world| {
        let row = |number: usize| PickRow {
            id: format!("s{number}"),
            title: format!("prompt {number}"),
            note: "2026-01-01".into(),
        };
        let rows = (1..=30).map(row).collect();
        world.hear(Msg::Pick { what: Picking::Session, title: "Sessions".into(), rows });
        world.keys(&[Key::Down]);
    }),
    ("key", |world| {
        world.hear(Msg::Secret { title: "Paste the key, then Enter".into() });
        world.hear(Msg::Input(Input::Paste("sk-secret\n".into())));
    }),
    ("history_search", |world| {
        world.hear(Msg::History(vec!["fix the build".into(), "write docs".into()]));
        world.keys(&[Key::Ctrl('r'), Key::Char('b'), Key::Char('u')]);
    }),
    ("paste", |world| {
        let text: String = (0..214).map(|number| format!("{number}\n")).collect();
        world.typed("see ");
        world.hear(Msg::Input(Input::Paste(text)));
    }),
    ("help", |world| {
        world.typed("/help");
        world.keys(&[Key::Enter, Key::Enter]);
    }),
];

/// FR-TUI-01..04
#[test]
fn every_block_and_panel_looks_as_it_did() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
    let writes = std::env::var_os("JM_PICTURES").is_some_and(|word| word == "write");
    let mut wrong = Vec::new();
    for (name, scene) in SCENES {
        for size in SIZES {
            let mut world = World::new(size);
            scene(&mut world);
            let picture = world.picture();
            let path = folder.join(format!("{name}-{}x{}.txt", size.0, size.1));
            if writes {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &picture).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            if kept != picture {
                wrong.push(format!("{}:\n{picture}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "other than kept (JM_PICTURES=write keeps):\n{}", wrong.join("\n"));
}
