//! A unified diff in colour, with line numbers and the words that changed.
//!
//! Law: every line of the diff is there, in order; what cannot be read as a diff is shown as it is.

use jm_types::text::reveal;
use similar::{ChangeTag, TextDiff};

use super::output::more_lines;
use crate::text::{Line, Role, Style};

/// Lines with less in common than this were replaced, not edited: marking words would be noise.
const ALIKE: f32 = 0.4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Kept,
    Added,
    Removed,
}

struct Row<'a> {
    sign: Sign,
    number: usize,
    text: &'a str,
}

/// Which lines between the rows of a diff are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heads {
    All,
    /// A call names its one file already, and numbers tell where a hunk is.
    Needed,
}

/// Renders a unified diff of one or several files. What could hide something is shown by its code
/// point, because somebody decides by this.
pub fn diff(unified: &str) -> Vec<Line> {
    rendered(unified, Heads::All)
}

fn rendered(unified: &str, heads: Heads) -> Vec<Line> {
    let unified = reveal(unified);
    let digits = widest_number(&unified);
    let files = unified.lines().filter(|line| line.starts_with("+++ ")).count();
    let mut lines: Vec<Line> = Vec::new();
    let (mut old, mut new) = (1, 1);
    let mut is_first = true;
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut rest = unified.lines().peekable();
    while let Some(line) = rest.next() {
        let is_header =
            line.starts_with("--- ") && rest.peek().is_some_and(|next| next.starts_with("+++ "));
        let row = match line.as_bytes().first() {
            _ if is_header => None,
            Some(b'+') => Some(Sign::Added),
            Some(b'-') => Some(Sign::Removed),
            Some(b' ') => Some(Sign::Kept),
            _ => None,
        };
        let Some(sign) = row else {
            flush(&mut rows, digits, &mut lines);
            if is_header {
                let after = rest.next().unwrap_or_default();
                if heads == Heads::All || files > 1 {
                    lines.push(file_header(line, after));
                }
                is_first = true;
            } else if let Some((first_old, first_new)) = hunk(line) {
                (old, new) = (first_old, first_new);
                match heads {
                    Heads::All => lines.push(Line::of(line, Role::Muted)),
                    Heads::Needed if is_first => {}
                    Heads::Needed => lines.push(Line::of(format!("{:>digits$}", "…"), Role::Muted)),
                }
                is_first = false;
            } else {
                lines.push(Line::of(line, Role::Muted));
            }
            continue;
        };
        let number = if sign == Sign::Removed { old } else { new };
        old += usize::from(sign != Sign::Added);
        new += usize::from(sign != Sign::Removed);
        rows.push(Row { sign, number, text: &line[1..] });
    }
    flush(&mut rows, digits, &mut lines);
    lines
}

/// `+12 −3`
pub fn totals(unified: &str) -> (usize, usize) {
    let count = |sign: char, header: &str| {
        unified.lines().filter(|line| line.starts_with(sign) && !line.starts_with(header)).count()
    };
    (count('+', "+++ "), count('-', "--- "))
}

fn file_header(old: &str, new: &str) -> Line {
    let name = |line: &str| line[4..].split('\t').next().unwrap_or_default().to_owned();
    let (old, new) = (name(old), name(new));
    let short = |name: &str| {
        let rest = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
        rest.unwrap_or(name).to_owned()
    };
    let style = Style::of(Role::Text).bold();
    match (old.as_str(), new.as_str()) {
        ("/dev/null", _) => Line::of(short(&new), style).add("  new file", Role::Added),
        (_, "/dev/null") => Line::of(short(&old), style).add("  deleted", Role::Removed),
        _ => Line::of(short(&new), style),
    }
}

fn hunk(line: &str) -> Option<(usize, usize)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let first = |word: &str| word[1..].split(',').next()?.parse().ok();
    let old = words.next().filter(|word| word.starts_with('-')).and_then(first)?;
    let new = words.next().filter(|word| word.starts_with('+')).and_then(first)?;
    Some((old, new))
}

fn widest_number(unified: &str) -> usize {
    let hunks = unified.lines().filter_map(hunk).map(|(old, new)| old.max(new) + 99);
    hunks.max().unwrap_or(99).to_string().len()
}

/// Runs of removed lines with the added lines after them are compared word by word.
fn flush(rows: &mut Vec<Row<'_>>, digits: usize, lines: &mut Vec<Line>) {
    let rows = std::mem::take(rows);
    let mut at = 0;
    while at < rows.len() {
        let run = |from: usize, sign: Sign| {
            rows[from..].iter().take_while(|row| row.sign == sign).count()
        };
        let removed = run(at, Sign::Removed);
        let added = run(at + removed, Sign::Added);
        if removed == 0 || added == 0 {
            let length = removed.max(added).max(1);
            rows[at..at + length].iter().for_each(|row| lines.push(plain_row(row, digits)));
            at += length;
            continue;
        }
        let (old, new) = rows[at..at + removed + added].split_at(removed);
        let pair = |index: usize| old.get(index).zip(new.get(index));
        let marked: Vec<_> = (0..removed.max(added))
            .map(|index| pair(index).and_then(|(old, new)| words(old.text, new.text)))
            .collect();
        for (index, row) in old.iter().enumerate() {
            let mark = marked[index].as_ref().map(|(old, _)| old);
            lines.push(
                mark.map_or_else(|| plain_row(row, digits), |mark| marked_row(row, mark, digits)),
            );
        }
        for (index, row) in new.iter().enumerate() {
            let mark = marked[index].as_ref().map(|(_, new)| new);
            lines.push(
                mark.map_or_else(|| plain_row(row, digits), |mark| marked_row(row, mark, digits)),
            );
        }
        at += removed + added;
    }
}

/// Pieces of a line and whether each changed.
type Pieces = Vec<(String, bool)>;

fn words(old: &str, new: &str) -> Option<(Pieces, Pieces)> {
    // Comparing two long lines costs more than it tells.
    if old.len() + new.len() > 2_000 {
        return None;
    }
    let diff = TextDiff::from_words(old, new);
    if diff.ratio() < ALIKE {
        return None;
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let text = change.value().to_owned();
        match change.tag() {
            ChangeTag::Equal => {
                before.push((text.clone(), false));
                after.push((text, false));
            }
            ChangeTag::Delete => before.push((text, true)),
            ChangeTag::Insert => after.push((text, true)),
        }
    }
    Some((before, after))
}

fn start(row: &Row<'_>, digits: usize) -> (Line, Role, Role) {
    let (sign, role, word) = match row.sign {
        Sign::Kept => (' ', Role::Text, Role::Text),
        Sign::Added => ('+', Role::Added, Role::AddedWord),
        Sign::Removed => ('-', Role::Removed, Role::RemovedWord),
    };
    let number = format!("{:>digits$} ", row.number);
    (Line::of(number, Role::Muted).add(format!("{sign} "), role), role, word)
}

fn plain_row(row: &Row<'_>, digits: usize) -> Line {
    let (line, role, _) = start(row, digits);
    line.add(row.text, role)
}

fn marked_row(row: &Row<'_>, pieces: &Pieces, digits: usize) -> Line {
    let (mut line, role, word) = start(row, digits);
    for (text, is_changed) in pieces {
        line.push(text, if *is_changed { word } else { role });
    }
    line
}

/// The first lines of a diff beneath its call, and how many more there are.
pub fn first_lines(unified: &str, most: usize) -> Vec<Line> {
    let mut lines = rendered(unified, Heads::Needed);
    if lines.len() > most {
        let hidden = lines.len() - most;
        lines.truncate(most);
        lines.push(more_lines(hidden));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
--- a/src/main.rs
+++ b/src/main.rs
@@ -8,3 +8,4 @@
 fn main() {
-    let port = 80;
+    let port = 8080;
+    run(port);
 }
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hidden\u{202e}
";

    #[test]
    fn lines_are_numbered_and_nothing_is_hidden() {
        let lines: Vec<String> = diff(DIFF).iter().map(Line::plain).collect();
        assert_eq!(
            lines,
            [
                "src/main.rs",
                "@@ -8,3 +8,4 @@",
                "  8   fn main() {",
                "  9 -     let port = 80;",
                "  9 +     let port = 8080;",
                " 10 +     run(port);",
                " 11   }",
                "new.txt  new file",
                "@@ -0,0 +1 @@",
                "  1 + hidden<U+202E>",
            ]
        );
        assert_eq!(totals(DIFF), (3, 1));
    }

    #[test]
    fn changed_words_are_marked() {
        let lines = diff(DIFF);
        let marked = |line: &Line, role: Role| -> Vec<String> {
            let spans = line.spans.iter().filter(|span| span.style().role == role);
            spans.map(|span| span.text().to_owned()).collect()
        };
        assert_eq!(marked(&lines[3], Role::RemovedWord), ["80;"]);
        assert_eq!(marked(&lines[4], Role::AddedWord), ["8080;"]);
    }

    #[test]
    fn beneath_a_call_only_needed_heads_stand() {
        let shown = |diff: &str, most| -> Vec<String> {
            first_lines(diff, most).iter().map(Line::plain).collect()
        };
        assert_eq!(
            shown(DIFF, 3),
            ["src/main.rs", "  8   fn main() {", "  9 -     let port = 80;", "  … 5 more lines"]
        );
        let hunks = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -7 +7 @@\n-c\n+d\n";
        assert_eq!(shown(hunks, 9), ["  1 - a", "  1 + b", "  …", "  7 - c", "  7 + d"]);
    }
}
