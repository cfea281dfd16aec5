//! From Markdown to steps.

use jm_types::text::Fence;

/// One case.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) steps: Vec<Step>,
}

/// One fenced block.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) kind: String,
    pub(crate) words: Vec<String>,
    /// With its final newline, unless it is empty.
    pub(crate) body: String,
}

pub(crate) fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut common = Vec::new();
    let mut open: Option<(Fence, Step)> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some((fence, step)) = &mut open {
            if fence.is_closed_by(line) {
                let (_, step) = open.take().ok_or("no open block")?;
                // Blocks before the first heading begin every case.
                sections.last_mut().map_or(&mut common, |section| &mut section.steps).push(step);
            } else {
                step.body.push_str(line);
                step.body.push('\n');
            }
            continue;
        }
        let opened = Fence::opened_by(line).filter(|(fence, _)| fence.is_of_backquotes());
        if let Some((fence, words)) = opened {
            let mut words = words.split_whitespace().map(str::to_owned);
            let kind = words.next().unwrap_or_default();
            let step = Step { line: index + 1, kind, words: words.collect(), body: String::new() };
            open = Some((fence, step));
        } else if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section { title: title.to_owned(), steps: common.clone() });
        }
    }
    match open {
        Some((_, step)) => Err(format!("the block at line {} is not closed", step.line)),
        None => Ok(sections),
    }
}

/// `\n`, `\r`, `\t`, `\\` and `\xNN`; line breaks in the block are not part of the bytes.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().filter(|byte| *byte != b'\n');
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next().ok_or("a backslash at the end")? {
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'\\' => bytes.push(b'\\'),
            b'x' => {
                let digits = [rest.next().unwrap_or(b'?'), rest.next().unwrap_or(b'?')];
                let digits = String::from_utf8_lossy(&digits).into_owned();
                bytes.push(u8::from_str_radix(&digits, 16).map_err(|_| format!("\\x{digits}"))?);
            }
            other => return Err(format!("unknown escape \\{}", other as char)),
        }
    }
    Ok(bytes)
}

/// True if `text` is `pattern`, where `…` in the pattern stands for anything within a line and a
/// line `…` alone for any lines.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<&str> = pattern.lines().collect();
    let text: Vec<&str> = text.lines().collect();
    lines_match(&pattern, &text)
}

fn lines_match(pattern: &[&str], text: &[&str]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=text.len()).any(|skipped| lines_match(rest, &text[skipped..]))
        }
        Some((first, rest)) => text
            .split_first()
            .is_some_and(|(line, after)| line_matches(first, line) && lines_match(rest, after)),
    }
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
