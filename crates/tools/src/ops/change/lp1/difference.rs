//! Two short lists of lines, side by side.
//!
//! Law: what is shown is bounded and safe for a terminal. In a line that differs, white space,
//! foreign bytes and invisible characters can be seen, and so can the place where it differs.

/// The most lines of each list that are compared.
const COMPARED_LINES: usize = 32;
/// The most rows that are shown.
const SHOWN_ROWS: usize = 20;
/// The most characters of a line that are shown.
const SHOWN_CHARACTERS: usize = 120;
/// Enough bytes for those characters and for one that tells that more follow.
const SHOWN_BYTES: usize = (SHOWN_CHARACTERS + 1) * 4;
/// The most characters of a line in which its first difference is looked for.
const SAME_BYTES: usize = 1 << 16;

/// Rows of text: `-` only in `find`, `+` only in `found`, a blank in both.
pub(super) fn difference(find: &[String], found: &[&[u8]]) -> Vec<String> {
    let wanted: Vec<&[u8]> = find.iter().map(String::as_bytes).collect();
    let same = wanted.iter().zip(found).take_while(|(left, right)| left == right).count();
    // One row of context is enough, and a long beginning must not hide the first change.
    let from = same.saturating_sub(1);
    shown(&compare(head(&wanted[from..]), head(&found[from..])))
}

fn head<'a, 'b>(lines: &'a [&'b [u8]]) -> &'a [&'b [u8]] {
    &lines[..lines.len().min(COMPARED_LINES)]
}

#[derive(Debug, Clone, Copy)]
enum DiffRow<'a> {
    Same(&'a [u8]),
    Wanted(&'a [u8]),
    Found(&'a [u8]),
}

/// The shortest way from one list to the other: what both have in common stays in place.
fn compare<'a>(wanted: &[&'a [u8]], found: &[&'a [u8]]) -> Vec<DiffRow<'a>> {
    let common = common_lines(wanted, found);
    let (mut i, mut j) = (0, 0);
    let mut rows = Vec::new();
    loop {
        match (wanted.get(i), found.get(j)) {
            (None, None) => return rows,
            (Some(left), Some(right)) if left == right => {
                rows.push(DiffRow::Same(left));
                (i, j) = (i + 1, j + 1);
            }
            (Some(left), right) if right.is_none() || common[i + 1][j] >= common[i][j + 1] => {
                rows.push(DiffRow::Wanted(left));
                i += 1;
            }
            (_, right) => {
                rows.extend(right.map(|right| DiffRow::Found(right)));
                j += 1;
            }
        }
    }
}

/// At `[i][j]`: how many lines can stay in place from `wanted[i]` and `found[j]` on.
fn common_lines(wanted: &[&[u8]], found: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; found.len() + 1]; wanted.len() + 1];
    for i in (0..wanted.len()).rev() {
        for j in (0..found.len()).rev() {
            common[i][j] = if wanted[i] == found[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    common
}

/// The rows as text: each change with one row around it, and no more than fit.
fn shown(rows: &[DiffRow<'_>]) -> Vec<String> {
    let is_change = |row: &DiffRow<'_>| !matches!(row, DiffRow::Same(_));
    let is_near_change =
        |&at: &usize| rows[at.saturating_sub(1)..rows.len().min(at + 2)].iter().any(is_change);
    let near: Vec<usize> = (0..rows.len()).filter(is_near_change).collect();
    let mut text: Vec<String> =
        near.iter().take(SHOWN_ROWS).map(|&at| row_text(rows[at], rows)).collect();
    if near.len() > SHOWN_ROWS {
        text.push("…".to_owned());
    }
    text
}

fn row_text(row: DiffRow<'_>, rows: &[DiffRow<'_>]) -> String {
    match row {
        DiffRow::Same(line) => {
            let line = &line[..line.len().min(SHOWN_BYTES)];
            format!("  {}", clip(&String::from_utf8_lossy(line)))
        }
        DiffRow::Wanted(line) => {
            let others = rows.iter().filter_map(|other| match other {
                DiffRow::Found(found) => Some(*found),
                DiffRow::Same(_) | DiffRow::Wanted(_) => None,
            });
            format!("- {}", visible(line, first_difference(line, others)))
        }
        DiffRow::Found(line) => {
            let others = rows.iter().filter_map(|other| match other {
                DiffRow::Wanted(wanted) => Some(*wanted),
                DiffRow::Same(_) | DiffRow::Found(_) => None,
            });
            format!("+ {}", visible(line, first_difference(line, others)))
        }
    }
}

/// The length for which a line is the same as the most similar of the others.
fn first_difference<'a>(line: &[u8], others: impl Iterator<Item = &'a [u8]>) -> usize {
    let same = |other: &[u8]| {
        line.iter().zip(other).take(SAME_BYTES).take_while(|(left, right)| left == right).count()
    };
    others.map(same).max().unwrap_or(0)
}

/// A line with its white space and its foreign bytes made visible, cut so that `point` is in it.
fn visible(line: &[u8], point: usize) -> String {
    let mut text = String::new();
    let mut start = if point > SHOWN_CHARACTERS / 2 { point - SHOWN_CHARACTERS / 4 } else { 0 };
    // A cut inside a character would show its rest as foreign bytes.
    while start > 0 && start < line.len() && line[start] & 0xC0 == 0x80 {
        start -= 1;
    }
    if start > 0 {
        text.push('…');
    }
    let end = line.len().min(start + SHOWN_BYTES);
    for chunk in line[start..end].utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                ' ' => text.push('·'),
                '\t' => text.push('→'),
                _ => push_plain(&mut text, c),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02X}")));
    }
    clip(&text)
}

/// Text that is safe to show and not too long.
pub(super) fn clip(text: &str) -> String {
    let mut clipped = String::new();
    let mut characters = text.chars();
    for c in characters.by_ref().take(SHOWN_CHARACTERS) {
        match c {
            '\t' => clipped.push(c),
            _ => push_plain(&mut clipped, c),
        }
    }
    if characters.next().is_some() {
        clipped.push('…');
    }
    clipped
}

/// Adds a character, or its number if it cannot be seen.
fn push_plain(text: &mut String, c: char) {
    let is_hidden = c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{FEFF}');
    if is_hidden { text.extend(c.escape_unicode()) } else { text.push(c) }
}
