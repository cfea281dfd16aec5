//! A section of Markdown as a test: scripts, what is asked of them, what they answer.
//!
//! Blocks: `lua init.lua`, `lua lua/NAME.lua`, `lua document` (evaluated as front matter), and
//! questions: `call TOOL`, `preview TOOL WIDTH`, `resolve TOOL`, `resolve-document TOOL`, `resolvers`,
//! `tools`, `sources`. The block after a question is its answer: JSON, or text in which `…` stands for
//! anything. `log` has lines that must have been logged. `limits` has numbers.

use std::sync::Arc;
use std::time::Duration;

use jm_lua::{CallFailure, ModuleSource, Resolved, ScriptLimits, Scripts};
use jm_types::Cancel;
use serde_json::{Value, json};

use crate::world::{World, context};

pub(crate) struct Section {
    pub(crate) title: String,
    blocks: Vec<Block>,
}

struct Block {
    words: Vec<String>,
    text: String,
}

/// The tools that a document knows in these tests; the last one must be chosen by name.
const KNOWN: &[&str] = &["bash", "calculator", "edit", "read", "write", "calculator_async"];

/// Sections without a question are prose.
pub(crate) fn sections(text: &str) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            all.push(Section { title: title.to_owned(), blocks: Vec::new() });
        } else if let Some(info) = line.strip_prefix("```") {
            let body: Vec<&str> =
                lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            let words = info.split_whitespace().map(str::to_owned).collect();
            let text = body.iter().map(|line| format!("{line}\n")).collect();
            all.last_mut().expect("a block in a section").blocks.push(Block { words, text });
        }
    }
    all.retain(|section| section.blocks.iter().any(Block::is_answer));
    all
}

impl Block {
    fn is_answer(&self) -> bool {
        self.words.first().is_some_and(|word| word == "answer")
    }

    fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    fn input(&self) -> Value {
        match self.text.trim() {
            "" => json!({}),
            text => serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}")),
        }
    }
}

struct Run {
    world: Arc<World>,
    scripts: Scripts,
    timeout: Duration,
}

impl Section {
    pub(crate) fn check(&self) -> Result<(), String> {
        let run = self.start();
        let mut blocks = self.blocks.iter().peekable();
        while let Some(block) = blocks.next() {
            match block.word(0) {
                "log" => run.check_log(&block.text)?,
                "lua" if block.word(1) != "document" => {}
                "limits" => {}
                "answer" => return Err(format!("an answer without a question: {}", block.text)),
                _ => {
                    let answer = run.ask(block);
                    let expected = blocks.next_if(|block| block.is_answer());
                    let expected = expected.ok_or("a question without an answer")?;
                    compare(&answer, &expected.text)?;
                }
            }
        }
        Ok(())
    }

    fn start(&self) -> Run {
        let world = Arc::new(World::default());
        let (mut init, mut limits, mut timeout) = ("", ScriptLimits::default(), 5_000);
        for block in &self.blocks {
            match (block.word(0), block.word(1)) {
                ("lua", "init.lua") => init = &block.text,
                ("lua", "document") => {}
                ("lua", file) => {
                    world.files.lock().unwrap().insert(file.to_owned(), block.text.clone());
                }
                ("limits", _) => {
                    let numbers = block.input();
                    let number = |name: &str, usual: u64| numbers[name].as_u64().unwrap_or(usual);
                    limits.start_ms = number("start_ms", limits.start_ms);
                    timeout = number("timeout_ms", timeout);
                }
                _ => {}
            }
        }
        let scripts = world.scripts(init, limits);
        Run { world, scripts, timeout: Duration::from_millis(timeout) }
    }
}

impl Run {
    fn ask(&self, block: &Block) -> String {
        let (scripts, name, input) = (&self.scripts, block.word(1), || block.input());
        match block.word(0) {
            "call" => shown(
                scripts
                    .wait_for_sources(Duration::from_secs(10))
                    .and_then(|_| {
                        let cancel = Cancel::new();
                        scripts.execute(name, input(), context(), self.timeout, &cancel)
                    })
                    .map(|answer| json!(answer)),
            ),
            "preview" => {
                let width = block.word(2).parse().expect("a width");
                shown(scripts.preview(name, input(), width).map(Value::from))
            }
            "resolve" => verdict(scripts.resolve(None, name, input(), context())),
            "resolve-document" => {
                verdict(scripts.resolve_document("a.chat", name, input(), context()))
            }
            "resolvers" => shown(scripts.resolvers().map(|all| {
                all.into_iter()
                    .map(|one| format!("{} {}\n", one.priority, one.name))
                    .collect::<String>()
                    .into()
            })),
            "tools" => shown(
                scripts
                    .wait_for_sources(Duration::from_secs(10))
                    .and_then(|_| scripts.tools())
                    .map(|all| json!(all)),
            ),
            "sources" => shown(scripts.wait_for_sources(Duration::from_secs(10)).map(|failed| {
                let lines = failed.iter().map(|one| format!("{}: {}\n", one.source, one.error));
                Value::from(lines.collect::<String>())
            })),
            "lua" => {
                let chunk = ModuleSource { name: "a.chat".to_owned(), text: block.text.clone() };
                let known: Vec<String> = KNOWN.iter().map(|name| (*name).to_owned()).collect();
                let enabled = known[..known.len() - 1].to_vec();
                shown(scripts.evaluate("a.chat", chunk, known, enabled).map(|set| json!(set)))
            }
            other => panic!("an unknown block: {other}"),
        }
    }

    /// Messages come on the same line as answers, so those of an answered question are there.
    fn check_log(&self, expected: &str) -> Result<(), String> {
        let log = self.world.log.lock().unwrap();
        for line in expected.lines() {
            if !log.iter().any(|logged| fits(logged, line)) {
                return Err(format!("not logged: {line}\nlogged: {log:#?}"));
            }
        }
        Ok(())
    }
}

fn shown(outcome: Result<Value, CallFailure>) -> String {
    match outcome {
        Ok(Value::String(text)) => text,
        Ok(value) => value.to_string(),
        Err(failure) => format!("error: {failure}"),
    }
}

fn verdict(outcome: Result<Option<Resolved>, CallFailure>) -> String {
    let text = |resolved: Resolved| format!("{} by {}", json!(resolved.verdict), resolved.by);
    let answer = outcome.map(|found| found.map_or("nothing".to_owned(), text).replace('"', ""));
    shown(answer.map(Value::from))
}

fn compare(answer: &str, expected: &str) -> Result<(), String> {
    let is_same = match serde_json::from_str::<Value>(expected) {
        Ok(expected) => {
            serde_json::from_str::<Value>(answer).is_ok_and(|answer| answer == expected)
        }
        Err(_) => fits(answer.trim_end(), expected.trim_end()),
    };
    if is_same { Ok(()) } else { Err(format!("answered: {answer}\nexpected: {expected}")) }
}

/// True if a text is the pattern, in which `…` stands for anything.
fn fits(text: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
        last = Some(piece);
    }
    rest.is_empty() || last.is_some_and(|last| last.is_empty() || text.ends_with(last))
}
