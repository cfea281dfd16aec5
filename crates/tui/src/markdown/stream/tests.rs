//! Markdown in pieces.

use proptest::prelude::*;

use super::*;

const TEXT: &str = "\
# Title
First paragraph
goes on.

- one
- two
  more of two
- three

After the list:
```rust
fn main() {}

let x = 1;
```
| a | b |
|---|---|
| 1 | 2 |

> quote

1. first
2. second

The *end*.";

fn text_of(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Lines(lines) => {
                lines.iter().for_each(|line| text.push_str(&(line.plain() + "\n")))
            }
            Piece::CodeBegins { language, .. } => text.push_str(&format!("<{language}>\n")),
            Piece::CodeLine { text: line, .. } => text.push_str(&format!("| {line}\n")),
            Piece::CodeEnds { .. } => text.push_str("</>\n"),
        }
    }
    text
}

fn streamed(text: &str, size: usize) -> String {
    let mut stream = Stream::default();
    let mut pieces = Vec::new();
    let letters: Vec<char> = text.chars().collect();
    for chunk in letters.chunks(size.max(1)) {
        pieces.extend(stream.push(&chunk.iter().collect::<String>(), 40));
    }
    pieces.extend(stream.finish(40));
    assert!(stream.is_empty());
    text_of(&pieces)
}

#[test]
fn what_comes_in_pieces_looks_like_the_whole() {
    let expected = "\
Title

First paragraph goes on.

• one
• two more of two
• three

After the list:

<rust>
| fn main() {}
| 
| let x = 1;
</>

a │ b
──┼──
1 │ 2

> quote

1. first
2. second

The end.
";
    for size in [1, 2, 3, 7, 20, 10_000] {
        assert_eq!(streamed(TEXT, size), expected, "pieces of {size}");
    }
}

#[test]
fn what_is_finished_is_given_out_at_once() {
    let mut stream = Stream::default();
    assert_eq!(text_of(&stream.push("# A\n", 40)), "A\n");
    assert_eq!(stream.push("one", 40), []);
    assert_eq!(stream.live(40)[0].plain(), "one");
    assert_eq!(text_of(&stream.push(" two\n\n", 40)), "\none two\n");
    assert_eq!(stream.push("- a\n", 40), []);
    assert_eq!(text_of(&stream.push("- b\n", 40)), "\n• a\n");
    assert_eq!(text_of(&stream.push("- c\n", 40)), "• b\n");
    assert_eq!(text_of(&stream.push("\n```sh\nls\n", 40)), "• c\n\n<sh>\n| ls\n");
    assert_eq!(stream.push("wh", 40), []);
    assert_eq!(stream.live(40)[0].plain(), "wh");
    assert_eq!(text_of(&stream.push("o\n", 40)), "| who\n");
    assert_eq!(text_of(&stream.finish(40)), "</>\n");
}

#[test]
fn a_paragraph_without_end_is_bounded() {
    let mut stream = Stream::default();
    let mut given = 0;
    for _ in 0..4_000 {
        given += text_of(&stream.push(&"x".repeat(100), 40)).len();
        assert!(stream.pending.len() <= MOST_PENDING + 100);
    }
    given += text_of(&stream.finish(40)).len();
    assert!(given >= 400_000);
    assert!(stream.live(40).is_empty());
}

proptest! {
    #[test]
    fn no_letter_is_lost(text in "[a-c \n*#>`|1.-]{0,120}", size in 1usize..9) {
        let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
        prop_assert_eq!(letters(&streamed(&text, size)), letters(&streamed(&text, 10_000)));
    }
}
