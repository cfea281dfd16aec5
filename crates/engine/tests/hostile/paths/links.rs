//! SYM: links.

use super::{
    DENIED, DIRECTORY, FILE, Fails, IO, LITERAL, MISSING, OUTSIDE, Plant, Refused, Row, Whatever,
    Works, row,
};

pub(super) fn rows() -> Vec<Row> {
    [leaving(), staying(), dangling(), odd(), denied()].into_iter().flatten().collect()
}

fn leaving() -> Vec<Row> {
    vec![
        row(34, "absolute link to a file", "l", OUTSIDE).link("l", "{X}/secret"),
        row(34, "relative link to a file", "l", OUTSIDE).link("l", "../x/secret"),
        row(34, "link in a directory", "src/l", OUTSIDE).link("src/l", "../../x/secret"),
        row(35, "absolute link to a directory", "d", OUTSIDE).link("d", "{X}"),
        row(35, "below an absolute link", "d/secret", OUTSIDE).link("d", "{X}"),
        row(35, "below a relative link", "d/secret", OUTSIDE).link("d", "../x"),
        row(35, "a new name below a link", "d/new", OUTSIDE).link("d", "../x"),
        row(35, "deep below a link", "d/sub/secret", OUTSIDE).link("d", "../x"),
        row(35, "link to the parent", "up/x/secret", OUTSIDE).link("up", ".."),
        row(35, "link to the parent from below", "a/up/x/secret", OUTSIDE).link("a/up", "../.."),
        row(35, "link to the sibling", "l/secret", OUTSIDE).link("l", "../w2"),
        row(35, "link out and back in", "l", OUTSIDE).link("l", "../w/src/a.rs"),
        row(36, "chain of five that leaves", "l1", OUTSIDE)
            .link("l1", "l2")
            .link("l2", "a/l3")
            .link("a/l3", "b/l4")
            .link("a/b/l4", "../../l5")
            .link("l5", "../x/secret"),
        row(37, "link to the root by proc", "l/etc/passwd", OUTSIDE).link("l", "/proc/self/root"),
        row(37, "link to the working directory by proc", "l", OUTSIDE).link("l", "/proc/self/cwd"),
        row(38, "up through a link", "k/../secret", OUTSIDE).link("k", "../x/sub"),
        row(42, "the first ancestor leaves", "l/b/f", OUTSIDE).link("l", "../x"),
        row(42, "the second ancestor leaves", "a/l/f", OUTSIDE).link("a/l", "../../x"),
        row(42, "the leaf leaves", "a/b/victim", OUTSIDE).link("a/b/victim", "../../../x/victim"),
        row(43, "a new directory below a link", "d/new/deep/f", OUTSIDE).link("d", "../x"),
        row(49, "absolute link back inside", "l", OUTSIDE).link("l", "{W}/src/a.rs"),
        row(49, "absolute directory link back inside", "l/a.rs", OUTSIDE).link("l", "{W}/src"),
        row(52, "an ignore file that leads out", ".gitignore", OUTSIDE)
            .link(".gitignore", "../x/secret"),
        row(76, "link to zeroes", "l", OUTSIDE).link("l", "/dev/zero"),
        row(76, "link to noise", "l", OUTSIDE).link("l", "/dev/random"),
        row(76, "link to the terminal", "l", OUTSIDE).link("l", "/dev/tty"),
        row(76, "link to the full device", "l", OUTSIDE).link("l", "/dev/full"),
        row(83, "link to standard input", "l", OUTSIDE).link("l", "/dev/stdin"),
        row(34, "a link that leaves, as a directory", "l/", OUTSIDE).link("l", "../x"),
        row(34, "a link that leaves, by a dot", "l/.", OUTSIDE).link("l", "{X}"),
    ]
}

fn staying() -> Vec<Row> {
    vec![
        row(36, "link to a file", "l", FILE).link("l", "src/a.rs"),
        row(36, "link to a directory", "l", DIRECTORY).link("l", "src"),
        row(36, "below a link", "l/a.rs", FILE).link("l", "src"),
        row(36, "new, below a link", "l/new.rs", LITERAL).link("l", "src"),
        row(36, "new directories below a link", "l/n/m/new.rs", LITERAL).link("l", "src"),
        row(36, "chain of five that stays", "l1", FILE)
            .link("l1", "l2")
            .link("l2", "a/l3")
            .link("a/l3", "b/l4")
            .link("a/b/l4", "../../l5")
            .link("l5", "src/a.rs"),
        row(39, "link with dots that stays", "a/b/l", FILE).link("a/b/l", "../../src/a.rs"),
        row(45, "link to here", "l/l/l/src/a.rs", FILE).link("l", "."),
        row(45, "link up that stays", "a/up/src/a.rs", FILE).link("a/up", ".."),
        row(40, "chain of forty", "l0", FILE).chain(40),
        row(50, "link with a trailing slash to a directory", "l/a.rs", FILE).link("l", "src/"),
    ]
}

fn dangling() -> Vec<Row> {
    vec![
        row(41, "relative, outward", "l", OUTSIDE).link("l", "../x/new"),
        row(41, "absolute, outward", "l", OUTSIDE).link("l", "{X}/new"),
        row(41, "outward, below", "l/f", OUTSIDE).link("l", "../x/new"),
        row(41, "outward to a missing directory", "l", OUTSIDE).link("l", "../nowhere/new"),
        row(41, "inward", "l", LITERAL).link("l", "a/target"),
        row(41, "inward, in new directories", "l", LITERAL).link("l", "n/m/target"),
        row(41, "inward, below", "l/f", LITERAL).link("l", "a/target"),
        row(41, "inward, up from nothing", "l", MISSING).link("l", "nope/../src/a.rs"),
        row(41, "inward, up from nothing and out", "l", [Refused; 4])
            .link("l", "nope/../../x/secret"),
    ]
}

fn odd() -> Vec<Row> {
    vec![
        row(40, "loop", "l", IO).link("l", "l"),
        row(40, "below a loop", "l/f", IO).link("l", "l"),
        row(40, "two in a circle", "l", IO).link("l", "m").link("m", "l"),
        row(40, "chain of forty-one", "l0", IO).chain(41),
        row(40, "a loop that grows", "l", [Refused; 4]).link("l", "l/l"),
        row(50, "bytes", "l", [Fails("not_found"), Fails("not_found"), Works, Works])
            .with(Plant::RawLink("l".into(), b"\x01\xff\xfe\x1b[2J".to_vec())),
        row(50, "4 095 bytes", "l", [Refused, Refused, Whatever, Whatever])
            .with(Plant::RawLink("l".into(), [b"a/".repeat(2047), b"b".to_vec()].concat())),
        row(50, "a name of 300 bytes", "l", [Refused; 4])
            .with(Plant::RawLink("l".into(), vec![b'n'; 300])),
        row(50, "a file as a directory, by a link", "l/x", IO).link("l", "src/a.rs"),
        row(50, "a file by a link, as a directory", "l/", IO).link("l", "src/a.rs"),
    ]
}

fn denied() -> Vec<Row> {
    vec![
        row(247, "a denied name", ".env", DENIED).file(".env"),
        row(247, "a denied name that is not there", ".env", DENIED),
        row(247, "a link to a denied name", "ok", DENIED).file(".env").link("ok", ".env"),
        row(247, "a denied name that links to a plain one", ".env", DENIED)
            .link(".env", "src/a.rs"),
        row(247, "below a link to a denied directory", "d/config", DENIED)
            .file(".ssh/config")
            .link("d", ".ssh"),
        row(247, "another case", "SERVER.PEM", DENIED).file("SERVER.PEM"),
        row(247, "invisible characters", ".s\u{200b}sh/id", DENIED).file(".s\u{200b}sh/id"),
        row(247, "a trailing dot", ".env.", DENIED).file(".env."),
        row(247, "a stream of another system", ".env::$DATA", DENIED),
        row(247, "spelt with dots and slashes", ".//./.env", DENIED).file(".env"),
    ]
}

impl Row {
    /// `l0 -> l1 -> … -> src/a.rs`, in that many links.
    fn chain(self, links: usize) -> Self {
        (0..links).fold(self, |row, number| {
            let to = match number + 1 == links {
                true => "src/a.rs".to_owned(),
                false => format!("l{}", number + 1),
            };
            row.link(&format!("l{number}"), &to)
        })
    }
}
