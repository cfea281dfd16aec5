//! The cost of a long document: reading and writing 10 MB, and one edit in it.
//!
//! `cargo bench -p jm-chat`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use jm_chat::{ChatDocument, NewResult, ToolStatus, ViewSources, merge};

const SIZE: usize = 10_000_000;
const ROUNDS: usize = 15;

fn main() {
    println!("{:<44} {:>9} {:>9}", "10 MB", "p50 ms", "max ms");
    let shapes: [(&str, Vec<u8>); 3] = [
        ("conversation", conversation()),
        ("fences that nothing closes", unclosed()),
        ("headers without a fence", headers()),
    ];
    for (name, bytes) in &shapes {
        report(&format!("parse and render, {name}"), || {
            let copy = bytes.clone();
            let start = Instant::now();
            black_box(ChatDocument::parse(copy).render());
            start.elapsed()
        });
    }
    let document = ChatDocument::parse(shapes[0].1.clone());
    report("a status: its splice", || {
        let start = Instant::now();
        black_box(document.status_splice("last", ToolStatus::Approved).unwrap());
        start.elapsed()
    });
    report("a status: spliced, parsed and checked", || {
        let start = Instant::now();
        black_box(document.with_status("last", ToolStatus::Approved).unwrap());
        start.elapsed()
    });
    report("as messages", || {
        let start = Instant::now();
        black_box(document.view(&ViewSources::bare("a", "m")));
        start.elapsed()
    });
    let theirs = document.with_status("last", ToolStatus::Approved).unwrap();
    let ours = document.with_result("call-0", &NewResult::text("new")).unwrap();
    report("a merge of two edits", || {
        let start = Instant::now();
        black_box(merge(&document, &theirs, &ours).unwrap());
        start.elapsed()
    });
}

fn report(name: &str, mut run: impl FnMut() -> Duration) {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| run()).collect();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("{name:<44} {:>9.2} {:>9.2}", ms(times[ROUNDS / 2]), ms(times[ROUNDS - 1]));
}

/// Questions, answers with code, calls and results of a few kilobytes.
fn conversation() -> Vec<u8> {
    let code = "    let line = reader.next_line()?; // a line of ordinary code\n".repeat(40);
    let mut text = "@System:\nBe brief.\n".to_owned();
    let mut number = 0;
    while text.len() < SIZE {
        text.push_str(&format!(
            "\n@You:\nPlease look at part {number}, and mind the details.\n\n@Assistant:\nI read it.\n\n\
             ```rust\n{code}```\n\n**Tool Use:** `read` (`call-{number}`)\n\n```json\n\
             {{\"label\": \"looking\", \"path\": \"src/part{number}.rs\", \"offset\": null}}\n```\n\n\
             @You:\n**Tool Result:** `call-{number}`\n\n```\n{code}```\n\n@Assistant:\nDone with it.\n"
        ));
        number += 1;
    }
    text.push_str(
        "\n@Assistant:\n**Tool Use:** `bash` (`last`)\n\n```json\n{}\n```\n\n@You:\n\
         **Tool Result:** `last`\n\n```flemma:tool status=pending\n```\n",
    );
    text.into_bytes()
}

/// Openings that get shorter, so that each could be closed only by what never comes.
fn unclosed() -> Vec<u8> {
    let mut text = "@You:\n".to_owned();
    let mut length = 4_000;
    while text.len() < SIZE {
        text.push_str(&"`".repeat(length.max(4)));
        text.push_str("x\n```\n");
        length -= 1;
        if length < 4 {
            length = 4_000;
        }
    }
    text.into_bytes()
}

fn headers() -> Vec<u8> {
    let mut text = "@Assistant:\n".to_owned();
    while text.len() < SIZE {
        text.push_str("**Tool Use:** `read` (`a`)\n\n<thinking>\n\n");
    }
    text.into_bytes()
}
