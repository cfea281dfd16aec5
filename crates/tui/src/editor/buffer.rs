//! Text that is edited: a caret in it, and pasted blocks folded to a word.
//!
//! Law: the caret stands between two graphemes; a folded block is one of them, and what is sent is
//! what was pasted, byte for byte.

use unicode_segmentation::UnicodeSegmentation;

/// Pastes of more lines or letters than this are folded.
const FOLD_LINES: usize = 5;
const FOLD_BYTES: usize = 1_000;

/// One thing that the caret moves over.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Atom {
    /// A grapheme.
    Letter(String),
    Pasted(String),
    /// Stands for a picture that goes with the text.
    Picture(String),
}

impl Atom {
    fn shown(&self, number: usize) -> String {
        match self {
            Atom::Letter(text) | Atom::Picture(text) => text.clone(),
            Atom::Pasted(text) => match text.lines().count() {
                0 | 1 => format!("[pasted #{number}: {} characters]", text.chars().count()),
                lines => format!("[pasted #{number}: {lines} lines]"),
            },
        }
    }

    fn text(&self) -> &str {
        match self {
            Atom::Letter(text) | Atom::Pasted(text) | Atom::Picture(text) => text,
        }
    }

    fn is_word(&self) -> bool {
        match self {
            Atom::Letter(text) => text.starts_with(|c: char| c.is_alphanumeric() || c == '_'),
            Atom::Pasted(_) | Atom::Picture(_) => true,
        }
    }

    fn is_newline(&self) -> bool {
        matches!(self, Atom::Letter(text) if text == "\n")
    }
}

/// The text that is being typed, with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buffer {
    atoms: Vec<Atom>,
    caret: usize,
    /// The text that was cut last.
    cut: Vec<Atom>,
}

impl Buffer {
    /// Tells if nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// The text that is sent.
    pub fn text(&self) -> String {
        self.atoms.iter().map(Atom::text).collect()
    }

    /// The text that is drawn: the part before the caret, and after it.
    pub fn shown(&self) -> (String, String) {
        let mut pastes = 0;
        let mut shown = |atoms: &[Atom]| -> String {
            let one = |atom: &Atom| {
                pastes += usize::from(matches!(atom, Atom::Pasted(_)));
                atom.shown(pastes)
            };
            atoms.iter().map(one).collect()
        };
        let before = shown(&self.atoms[..self.caret]);
        (before, shown(&self.atoms[self.caret..]))
    }

    /// Tells if a part is folded because it was pasted.
    pub fn has_pasted(&self) -> bool {
        self.atoms.iter().any(|atom| matches!(atom, Atom::Pasted(_)))
    }

    /// Replaces everything; the cursor goes to the end.
    pub fn set(&mut self, text: &str) {
        self.atoms = letters(text);
        self.caret = self.atoms.len();
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.atoms.clear();
        self.caret = 0;
    }

    /// Hands over the text with pasted parts unfolded, and is empty.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.clear();
        text
    }

    /// Inserts at the cursor.
    pub fn insert(&mut self, text: &str) {
        // What is typed may join what is before the caret to one grapheme.
        let joined: String = match self.caret.checked_sub(1).map(|at| &self.atoms[at]) {
            Some(Atom::Letter(last)) if last != "\n" => format!("{last}{text}"),
            _ => text.to_owned(),
        };
        let replaced = usize::from(joined.len() > text.len());
        let atoms = letters(&joined);
        let start = self.caret - replaced;
        let added = atoms.len();
        self.atoms.splice(start..self.caret, atoms);
        self.caret = start + added;
    }

    /// A paste: a long one is folded to one word.
    pub fn paste(&mut self, text: &str) {
        let is_long = text.lines().count() > FOLD_LINES || text.len() > FOLD_BYTES;
        match is_long {
            true => {
                self.atoms.insert(self.caret, Atom::Pasted(text.to_owned()));
                self.caret += 1;
            }
            false => self.insert(text),
        }
    }

    /// A picture, as one thing that can be deleted with one key.
    pub fn attach(&mut self, label: &str) {
        self.atoms.insert(self.caret, Atom::Picture(label.to_owned()));
        self.caret += 1;
        self.insert(" ");
    }

    /// Folded blocks become text again.
    pub fn unfold(&mut self) {
        let before: String = self.atoms[..self.caret].iter().map(Atom::text).collect();
        let text = self.text();
        self.atoms = letters(&text);
        self.caret = letters(&before).len();
    }

    /// Removes the character before the cursor.
    pub fn backspace(&mut self) {
        if self.caret > 0 {
            self.caret -= 1;
            self.atoms.remove(self.caret);
        }
    }

    /// Removes the character behind the cursor.
    pub fn delete(&mut self) {
        if self.caret < self.atoms.len() {
            self.atoms.remove(self.caret);
        }
    }

    /// Moves one character back.
    pub fn left(&mut self) {
        self.caret = self.caret.saturating_sub(1);
    }

    /// Moves one character on.
    pub fn right(&mut self) {
        self.caret = (self.caret + 1).min(self.atoms.len());
    }

    /// Moves to the beginning of the word.
    pub fn word_left(&mut self) {
        self.caret = self.word_start();
    }

    /// Moves to the end of the word.
    pub fn word_right(&mut self) {
        let mut at = self.caret;
        while at < self.atoms.len() && !self.atoms[at].is_word() {
            at += 1;
        }
        while at < self.atoms.len() && self.atoms[at].is_word() {
            at += 1;
        }
        self.caret = at;
    }

    fn word_start(&self) -> usize {
        let mut at = self.caret;
        while at > 0 && !self.atoms[at - 1].is_word() {
            at -= 1;
        }
        while at > 0 && self.atoms[at - 1].is_word() {
            at -= 1;
        }
        at
    }

    fn line_start(&self) -> usize {
        let before = &self.atoms[..self.caret];
        before.iter().rposition(Atom::is_newline).map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let after = &self.atoms[self.caret..];
        after.iter().position(Atom::is_newline).map_or(self.atoms.len(), |at| self.caret + at)
    }

    /// Moves to the beginning of the line.
    pub fn home(&mut self) {
        self.caret = self.line_start();
    }

    /// Moves to the end of the line.
    pub fn end(&mut self) {
        self.caret = self.line_end();
    }

    /// To the line above; whether there was one.
    pub fn up(&mut self) -> bool {
        let start = self.line_start();
        let column = self.caret - start;
        if start == 0 {
            return false;
        }
        self.caret = start - 1;
        self.caret = (self.line_start() + column).min(start - 1);
        true
    }

    /// To the line below; whether there was one.
    pub fn down(&mut self) -> bool {
        let column = self.caret - self.line_start();
        let end = self.line_end();
        if end == self.atoms.len() {
            return false;
        }
        self.caret = end + 1;
        self.caret = (end + 1 + column).min(self.line_end());
        true
    }

    /// Removes the word before the cursor.
    pub fn cut_word(&mut self) {
        self.cut_range(self.word_start(), self.caret);
    }

    /// Removes from the beginning of the line to the cursor.
    pub fn cut_to_start(&mut self) {
        self.cut_range(self.line_start(), self.caret);
    }

    /// Removes from the cursor to the end of the line.
    pub fn cut_to_end(&mut self) {
        self.cut_range(self.caret, self.line_end());
    }

    fn cut_range(&mut self, from: usize, to: usize) {
        if from < to {
            self.cut = self.atoms.drain(from..to).collect();
            self.caret = from;
        }
    }

    /// Puts back what was cut.
    pub fn yank(&mut self) {
        let added = self.cut.len();
        self.atoms.splice(self.caret..self.caret, self.cut.iter().cloned());
        self.caret += added;
    }

    /// The word around the caret's left side, from a blank or the start.
    pub fn word_before(&self) -> String {
        let is_blank = |atom: &Atom| atom.text().chars().all(char::is_whitespace);
        let start = self.atoms[..self.caret].iter().rposition(is_blank).map_or(0, |at| at + 1);
        self.atoms[start..self.caret].iter().map(Atom::text).collect()
    }

    /// Puts another word in its place.
    pub fn replace_word_before(&mut self, word: &str) {
        let length = letters(&self.word_before()).len();
        let atoms = letters(word);
        let start = self.caret - length.min(self.caret);
        self.caret = start + atoms.len();
        self.atoms.splice(start..start + length, atoms);
    }
}

fn letters(text: &str) -> Vec<Atom> {
    text.graphemes(true).map(|grapheme| Atom::Letter(grapheme.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> Buffer {
        let mut buffer = Buffer::default();
        buffer.set(text);
        buffer
    }

    #[test]
    fn the_caret_moves_by_graphemes_words_and_lines() {
        let mut it = buffer("one tw\u{301}o\n漢字");
        it.left();
        assert_eq!(it.shown().1, "字");
        assert!(it.up());
        assert_eq!(it.shown().1, "ne tw\u{301}o\n漢字");
        assert!(!it.up());
        it.end();
        it.word_left();
        assert_eq!(it.shown().0, "one ");
        it.word_right();
        it.backspace();
        assert_eq!(it.text(), "one tw\u{301}\n漢字");
        assert!(it.down());
        it.home();
        it.cut_to_end();
        assert_eq!(it.text(), "one tw\u{301}\n");
        it.yank();
        assert_eq!(it.text(), "one tw\u{301}\n漢字");
        it.cut_to_start();
        it.backspace();
        it.cut_word();
        assert_eq!(it.text(), "one ");
    }

    #[test]
    fn a_combining_mark_joins_what_is_before_it() {
        let mut it = buffer("e");
        it.insert("\u{301}");
        it.left();
        assert_eq!(it.shown(), (String::new(), "e\u{301}".into()));
        it.insert("👩");
        it.insert("\u{200d}👧");
        it.backspace();
        assert_eq!(it.text(), "e\u{301}");
    }

    #[test]
    fn a_long_paste_is_folded_and_sent_whole() {
        let pasted: String = (0..214).map(|number| format!("{number}\n")).collect();
        let mut it = buffer("see ");
        it.paste(&pasted);
        it.insert("!");
        assert_eq!(it.shown().0, "see [pasted #1: 214 lines]!");
        assert_eq!(it.text(), format!("see {pasted}!"));
        it.left();
        it.backspace();
        assert_eq!(it.text(), "see !");
        it.paste(&pasted);
        it.unfold();
        assert!(!it.has_pasted());
        assert_eq!(it.text(), format!("see {pasted}!"));
        assert_eq!(it.shown().1, "!");
        it.paste("a\nb");
        assert!(it.shown().0.ends_with("213\na\nb"));
    }

    #[test]
    fn a_picture_is_one_thing() {
        let mut it = buffer("look: ");
        it.attach("[picture 1: a.png]");
        assert_eq!(it.text(), "look: [picture 1: a.png] ");
        it.backspace();
        it.backspace();
        assert_eq!(it.text(), "look: ");
    }

    #[test]
    fn the_word_before_the_caret_is_replaced() {
        let mut it = buffer("look at @src/ma");
        assert_eq!(it.word_before(), "@src/ma");
        it.replace_word_before("@src/main.rs ");
        assert_eq!(it.text(), "look at @src/main.rs ");
    }
}
