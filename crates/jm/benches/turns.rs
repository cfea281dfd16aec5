//! Several builds of the benchmark `gate` in turns, so that a busy machine is busy for all of them.
//!
//! `cargo bench -p jm --bench turns -- ROUNDS GATE…`, each GATE the program that `cargo bench --bench gate --no-run` names.
//! A build that is given twice shows how far the same program differs from itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// The medians of a row, one for each round, by build.
type Rows = BTreeMap<String, Vec<Vec<Duration>>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some((rounds, gates)) = words.split_first().filter(|(_, gates)| !gates.is_empty()) else {
        println!("usage: cargo bench -p jm --bench turns -- ROUNDS GATE…");
        return;
    };
    let rounds: usize = rounds.parse().expect("a number of rounds");
    let (mut order, mut rows) = (Vec::new(), Rows::new());
    for _ in 0..rounds {
        for (build, gate) in gates.iter().enumerate() {
            let output = Command::new(gate).arg("--bench").output().expect("the benchmark starts");
            assert!(output.status.success(), "{gate}");
            for (name, median) in String::from_utf8(output.stdout).unwrap().lines().filter_map(row)
            {
                if !order.contains(&name) {
                    order.push(name.clone());
                }
                let medians = rows.entry(name).or_insert_with(|| vec![Vec::new(); gates.len()]);
                medians[build].push(median);
            }
        }
    }
    for name in order {
        let cells = rows[&name].iter().cloned().map(cell).collect::<String>();
        println!("{name:<38}{cells}");
    }
}

/// The name and the median of a line that the benchmark printed; the line has a median and a 99th percentile.
fn row(line: &str) -> Option<(String, Duration)> {
    let (rest, last) = line.trim_end().rsplit_once(' ')?;
    duration(last)?;
    let (name, median) = rest.trim_end().rsplit_once(' ')?;
    Some((name.trim().to_owned(), duration(median)?))
}

/// A duration as `{:?}` prints it.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Some(Duration::from_secs_f64(digits.parse::<f64>().ok()? * unit))
}

/// The median of the rounds, and the least and the greatest.
fn cell(mut medians: Vec<Duration>) -> String {
    medians.sort_unstable();
    match medians.as_slice() {
        [] => format!("{:>34}", "-"),
        [least, ..] => {
            let (median, most) = (medians[medians.len() / 2], medians[medians.len() - 1]);
            let range = format!("({least:.2?} to {most:.2?})");
            format!("{:>10} {range:<23}", format!("{median:.2?}"))
        }
    }
}
