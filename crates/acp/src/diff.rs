//! A unified diff as the texts before and after, hunk by hunk: the form in which a client draws a change.
//!
//! Law: a hunk has as many lines as its head says, so that no content can look like the head of another file.

/// The text of one hunk, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkText {
    /// As the diff names it, without `a/` or `b/`.
    pub path: String,
    /// `None` for a file that is new.
    pub old: Option<String>,
    /// The lines of the hunk after the change.
    pub new: String,
    /// The first line of the hunk in the new text, from 1.
    pub line: u32,
}

/// The hunks of all files of a diff, in order. What stands between them is passed over.
pub fn hunks_in(diff: &str) -> Vec<HunkText> {
    let mut lines = diff.split_inclusive('\n').peekable();
    let mut hunks = Vec::new();
    let mut file: Option<(String, bool)> = None;
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ")
            && let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ "))
        {
            file = Some(named(old.trim_end_matches('\n'), new.trim_end_matches('\n')));
            lines.next();
            continue;
        }
        let (Some((path, is_new)), Some(head)) = (&file, HunkHead::parse(line)) else { continue };
        let (old, new) = head.texts(&mut lines);
        let old = (!is_new).then_some(old);
        hunks.push(HunkText { path: path.clone(), old, new, line: head.first.max(1) });
    }
    hunks
}

/// The path, and if the file is new.
fn named(old: &str, new: &str) -> (String, bool) {
    let (is_new, is_deleted) = (old == "/dev/null", new == "/dev/null");
    let (name, side) = if is_deleted { (old, "a/") } else { (new, "b/") };
    (name.strip_prefix(side).unwrap_or(name).to_owned(), is_new)
}

/// The numbers of `@@ -1,3 +1,4 @@`.
struct HunkHead {
    old_lines: usize,
    first: u32,
    new_lines: usize,
}

impl HunkHead {
    fn parse(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let range = |text: &str| match text.split_once(',') {
            Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        };
        let ((_, old_lines), (first, new_lines)): ((u32, usize), (u32, usize)) =
            (range(old)?, range(new)?);
        Some(Self { old_lines, first, new_lines })
    }

    fn texts<'a>(
        &self,
        lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    ) -> (String, String) {
        let (mut old, mut new) = (String::new(), String::new());
        let (mut old_left, mut new_left) = (self.old_lines, self.new_lines);
        while old_left + new_left > 0 {
            let Some(line) = lines.next() else { break };
            let (mark, text) = line.split_at_checked(1).unwrap_or(("", line));
            if matches!(mark, " " | "-") {
                old.push_str(text);
                old_left = old_left.saturating_sub(1);
            }
            if matches!(mark, " " | "+") {
                new.push_str(text);
                new_left = new_left.saturating_sub(1);
            }
            if lines.peek().is_some_and(|next| next.starts_with('\\')) {
                lines.next();
                for side in [(" -", &mut old), (" +", &mut new)] {
                    if side.0.contains(mark) && side.1.ends_with('\n') {
                        side.1.pop();
                    }
                }
            }
        }
        (old, new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(path: &str, old: Option<&str>, new: &str, line: u32) -> HunkText {
        let (path, old, new) = (path.to_owned(), old.map(str::to_owned), new.to_owned());
        HunkText { path, old, new, line }
    }

    #[test]
    fn a_diff_becomes_texts() {
        let cases = [
            ("no diff at all\n", vec![]),
            (
                "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9,0 @@\n-x\n",
                vec![hunk("f", Some("a\nb\n"), "a\nc\n", 1), hunk("f", Some("x\n"), "", 9)],
            ),
            (
                "note\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n",
                vec![hunk("new", None, "one\ntwo", 1)],
            ),
            (
                "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n",
                vec![hunk("old", Some("gone\n"), "", 1)],
            ),
            (
                "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- a/g\n+++ b/g\n x\n",
                vec![hunk("f", Some("-- a/g\nx\n"), "++ b/g\nx\n", 1)],
            ),
            (
                "--- a/f\n+++ b/f\n(9 bytes become 3 bytes)\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n\\ No newline\n+a\n",
                vec![hunk("g", Some("a"), "a\n", 1)],
            ),
        ];
        for (diff, expected) in cases {
            assert_eq!(hunks_in(diff), expected, "{diff}");
        }
    }
}
