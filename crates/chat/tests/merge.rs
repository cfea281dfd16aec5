//! Merges of what a person edited while the program worked.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use jm_chat::{ChatDocument, merge};

const BASE: &str = "\
@You:
Do it.

@Assistant:
**Tool Use:** `read` (`a`)

```json
{}
```

**Tool Use:** `bash` (`b`)

```json
{}
```

@You:
**Tool Result:** `a`

```flemma:tool status=approved
```

**Tool Result:** `b`

```flemma:tool status=pending
```
";

const PENDING_B: &str = "```flemma:tool status=pending\n```\n";
const PLACE_A: &str = "```flemma:tool status=approved\n```\n";

const RESULT_A: (&str, &str) = (PLACE_A, "```\ncontents\n```\n");

/// Each edit replaces a text of the base, or is appended.
struct Case {
    name: &'static str,
    theirs: &'static [(&'static str, &'static str)],
    ours: &'static [(&'static str, &'static str)],
    expected: Result<&'static [(&'static str, &'static str)], &'static str>,
}

fn edited(edits: &[(&str, &str)]) -> String {
    let mut text = BASE.to_owned();
    for (old, new) in edits {
        match old.is_empty() {
            true => text.push_str(new),
            false => {
                assert!(text.contains(old), "{old}");
                text = text.replace(old, new);
            }
        }
    }
    text
}

#[test]
fn blocks_are_merged_or_named() {
    let cases: &[Case] = &[
        Case { name: "nothing edited", theirs: &[], ours: &[RESULT_A], expected: Ok(&[RESULT_A]) },
        Case {
            name: "the other placeholder approved",
            theirs: &[(PENDING_B, "```flemma:tool status=approved\n```\n")],
            ours: &[RESULT_A],
            expected: Ok(&[RESULT_A, (PENDING_B, "```flemma:tool status=approved\n```\n")]),
        },
        Case {
            name: "words typed at the end",
            theirs: &[("", "\nand hurry\n")],
            ours: &[RESULT_A],
            expected: Ok(&[RESULT_A, ("", "\nand hurry\n")]),
        },
        Case {
            name: "an earlier message edited",
            theirs: &[("Do it.", "Do it well.")],
            ours: &[RESULT_A, ("", "\n@You:\n")],
            expected: Ok(&[("Do it.", "Do it well."), RESULT_A, ("", "\n@You:\n")]),
        },
        Case {
            name: "the last block edited, an answer appended",
            theirs: &[(PENDING_B, "```flemma:tool status=rejected\nno\n```\n")],
            ours: &[("", "\n@Assistant:\nHi\n")],
            expected: Ok(&[
                (PENDING_B, "```flemma:tool status=rejected\nno\n```\n"),
                ("", "\n@Assistant:\nHi\n"),
            ]),
        },
        Case {
            name: "blank lines at the end",
            theirs: &[("", "\n\n\n")],
            ours: &[("", "\n@Assistant:\nHi\n")],
            expected: Ok(&[("", "\n@Assistant:\nHi\n")]),
        },
        Case {
            name: "the same placeholder",
            theirs: &[(PLACE_A, "```flemma:tool status=rejected\nno\n```\n")],
            ours: &[RESULT_A],
            expected: Err("line 18: the tool result `a` was edited meanwhile"),
        },
        Case {
            name: "the placeholder deleted",
            theirs: &[("**Tool Result:** `a`\n\n```flemma:tool status=approved\n```\n\n", "")],
            ours: &[RESULT_A],
            expected: Err("line 17: the tool result `a` was edited meanwhile"),
        },
        Case {
            name: "both answer",
            theirs: &[("", "\n@Assistant:\nMine\n")],
            ours: &[("", "\n@Assistant:\nOurs\n")],
            expected: Err("line 29: the text of @Assistant: was edited meanwhile"),
        },
        Case {
            name: "both the same",
            theirs: &[("", "\n@Assistant:\nHi\n")],
            ours: &[("", "\n@Assistant:\nHi\n")],
            expected: Ok(&[("", "\n@Assistant:\nHi\n")]),
        },
        Case {
            name: "a code block left open would swallow the answer",
            theirs: &[("Do it.", "Do it.\n`````")],
            ours: &[("", "\n@Assistant:\n`````\nHi\n`````\n")],
            expected: Err("line 2: the text of @You: was edited meanwhile"),
        },
        Case {
            name: "front matter added",
            theirs: &[("@You:\nDo it.", "```lua\nx = 1\n```\n@You:\nDo it.")],
            ours: &[RESULT_A],
            expected: Ok(&[("@You:\nDo it.", "```lua\nx = 1\n```\n@You:\nDo it."), RESULT_A]),
        },
    ];
    for case in cases {
        let [base, theirs, ours] =
            [BASE.to_owned(), edited(case.theirs), edited(case.ours)].map(ChatDocument::parse);
        let found = merge(&base, &theirs, &ours)
            .map(|merged| String::from_utf8(merged.render()).unwrap())
            .map_err(|conflict| conflict.to_string());
        let expected = case.expected.map(edited).map_err(str::to_owned);
        assert_eq!(found, expected, "{}", case.name);
    }
}
