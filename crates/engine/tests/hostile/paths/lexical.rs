//! PATH: spellings. Nothing is planted, or hardly anything.

use super::{
    BAD, DIRECTORY, FILE, Fails, IO, LITERAL, MISSING, OUTSIDE, Outside, Refused, Row, Skip,
    Whatever, Works, row,
};

/// Spellings that lead out, or nowhere.
pub(super) fn rows() -> Vec<Row> {
    [refused(), malformed(), dots()].into_iter().flatten().collect()
}

/// Spellings that are only names, and places inside.
pub(super) fn names() -> Vec<Row> {
    [literal(), absolute(), kinds()].into_iter().flatten().collect()
}

fn refused() -> Vec<Row> {
    vec![
        row(1, "up and out", "../x/secret", OUTSIDE),
        row(1, "up and out to nothing", "../x/new", OUTSIDE),
        row(1, "up and out with a dot", "./../x/secret", OUTSIDE),
        row(2, "down, up, out", "src/../../x/secret", OUTSIDE),
        row(2, "down, up, in", "src/../src/a.rs", OUTSIDE),
        row(2, "behind a missing name", "nope/../../x/secret", OUTSIDE),
        row(3, "absolute", "{X}/secret", OUTSIDE),
        row(3, "absolute, to nothing", "{X}/new", OUTSIDE),
        row(3, "absolute, inside", "{W}/src/a.rs", OUTSIDE),
        row(4, "absolute sibling with our name as its prefix", "{W2}/secret", OUTSIDE),
        row(5, "relative sibling", "../w2/secret", OUTSIDE),
        row(5, "out and back in", "../w/src/a.rs", OUTSIDE),
        row(6, "absolute, through the root and out", "{W}/../x/secret", OUTSIDE),
        row(15, "double slash", "//host/share", OUTSIDE),
        row(15, "etc", "/etc/passwd", OUTSIDE),
        row(20, "the root by proc", "/proc/self/root{X}/secret", OUTSIDE),
        row(20, "the working directory by proc", "/proc/thread-self/cwd", OUTSIDE),
        row(20, "a descriptor", "/dev/fd/3", OUTSIDE),
        row(20, "init's root", "/proc/1/root", OUTSIDE),
        row(83, "standard input", "/dev/stdin", OUTSIDE),
        row(22, "up", "..", OUTSIDE),
        row(22, "up with a slash", "../", OUTSIDE),
        row(22, "the file system", "/", OUTSIDE),
        row(21, "up from a file", "src/a.rs/..", OUTSIDE),
        row(23, "new, then up and out", "new/../../x/f", OUTSIDE),
    ]
}

fn malformed() -> Vec<Row> {
    vec![
        row(7, "empty", "", BAD),
        row(8, "a tab", "\t", BAD),
        row(8, "blanks", "   ", BAD),
        row(8, "a newline", "\n", BAD),
        row(9, "a NUL inside", "src/a.rs\0.md", BAD),
        row(9, "a NUL at the end", "src/a.rs\0", BAD),
        row(10, "4 096 bytes", "a/".repeat(2048), BAD),
        row(10, "100 000 bytes", "a".repeat(100_000), BAD),
        row(11, "a name of 256 bytes", "n".repeat(256), BAD),
        row(11, "a name of 256 bytes in the middle", format!("src/{}/f", "n".repeat(256)), BAD),
        row(11, "a name of 86 characters, 258 bytes", "\u{20ac}".repeat(86), BAD),
        row(12, "2 000 dots", format!("{}src/a.rs", "./".repeat(2000)), FILE),
        row(12, "2 000 slashes", format!("src{}a.rs", "/".repeat(2000)), FILE),
        row(
            92,
            "4 095 bytes of names",
            format!("{}f", "a/".repeat(2047)),
            [Refused, Refused, Whatever, Whatever],
        ),
    ]
}

fn literal() -> Vec<Row> {
    let names: &[(u16, &'static str, &str)] = &[
        (13, "home", "~"),
        (13, "below home", "~/x"),
        (13, "somebody's home", "~nobody/x"),
        (14, "a variable", "$PWD/a"),
        (14, "a variable of another system", "%HOME%"),
        (14, "a variable in braces", "${X}"),
        (14, "a substitution", "$(id)"),
        (14, "a substitution in backticks", "`id`"),
        (15, "an address", "file:///etc/passwd"),
        (15, "a verbatim path", r"\\?\C:\secret"),
        (15, "a drive", r"C:\secret"),
        (15, "a drive with slashes", "C:/secret"),
        (16, "dots in percent", "%2e%2e%2fx%2fsecret"),
        (16, "a slash in percent", "..%2fx%2fsecret"),
        (16, "dots twice in percent", "%252e%252e/x"),
        (17, "backslashes", r"..\..\x\secret"),
        (17, "backslashes below a directory", r"src\..\..\x\secret"),
        (18, "full width dots", "\u{ff0e}\u{ff0e}/x/secret"),
        (18, "one dot leaders", "\u{2024}\u{2024}/x/secret"),
        (18, "small dots", "\u{fe52}\u{fe52}/x/secret"),
        (18, "a two dot leader", "\u{2025}/x/secret"),
        (19, "division slashes", "..\u{2215}x\u{2215}secret"),
        (19, "full width slashes", "..\u{ff0f}x\u{ff0f}secret"),
        (19, "big slashes", "..\u{29f8}x\u{29f8}secret"),
        (19, "three dots", ".../x"),
        (19, "four dots", "..../x"),
        (19, "dots and a blank", ".. /x/secret"),
        (19, "dots and a zero width blank", "..\u{200b}/x/secret"),
    ];
    names.iter().map(|(case, what, path)| row(*case, what, *path, LITERAL)).collect()
}

fn absolute() -> Vec<Row> {
    let rows = vec![
        row(29, "inside", "{W}/src/a.rs", FILE),
        row(29, "inside, new", "{W}/new/f", LITERAL),
        row(29, "inside, untidy", "{W}//./src//a.rs", FILE),
        row(29, "the root", "{W}", DIRECTORY),
        row(29, "the root with a slash", "{W}/", DIRECTORY),
        row(29, "outside", "{X}/secret", OUTSIDE),
        row(29, "the sibling", "{W2}/secret", OUTSIDE),
        row(29, "the root's name and more", "{W}x", OUTSIDE),
        row(29, "through the root and out", "{W}/../x/secret", OUTSIDE),
        row(29, "the parent", "{W}/..", OUTSIDE),
        row(29, "the file system", "/", OUTSIDE),
        row(29, "proc's way to the root", "/proc/self/root{W}/src/a.rs", OUTSIDE),
        row(29, "another case", "{W}/../W/src/a.rs", OUTSIDE),
    ];
    rows.into_iter().map(Row::absolute).collect()
}

fn dots() -> Vec<Row> {
    let rows = vec![
        row(39, "down and up", "src/../src/a.rs", FILE),
        row(39, "two down, two up", "a/b/../../src/a.rs", FILE),
        row(39, "up to the root", "src/..", DIRECTORY),
        row(1, "up and out", "../x/secret", OUTSIDE),
        row(2, "down, up, out", "src/../../x/secret", OUTSIDE),
        row(5, "out and back in", "../w/src/a.rs", OUTSIDE),
        row(21, "up from a file", "src/a.rs/..", IO),
        row(21, "up from a file and down", "src/a.rs/../a.rs", IO),
        row(23, "up from nothing", "new/../src/a.rs", MISSING),
        row(23, "up from nothing and out", "new/../../x/f", MISSING),
        row(6, "absolute, through the root and out", "{W}/../x/secret", OUTSIDE),
        row(6, "absolute, up and down", "{W}/src/../src/a.rs", FILE),
        row(38, "up from a link that leaves", "k/../secret", OUTSIDE).link("k", "../x/sub"),
        row(39, "up from a link, as the kernel does", "in/../c.txt", FILE)
            .file("a/c.txt")
            .link("in", "a/b"),
        row(39, "up from a link, to nothing", "in/../only-at-the-top", LITERAL)
            .file("only-at-the-top")
            .link("in", "a/b"),
    ];
    rows.into_iter().map(|row| row.dots().absolute()).collect()
}

fn kinds() -> Vec<Row> {
    vec![
        row(21, "a file as a directory", "src/a.rs/", IO),
        row(21, "a file as a directory, twice", "src/a.rs//", IO),
        row(21, "a file as a directory, by a dot", "src/a.rs/.", IO),
        row(
            21,
            "a new file as a directory",
            "fresh/",
            [Fails("not_found"), Fails("not_found"), Refused, Refused],
        ),
        row(22, "here", ".", DIRECTORY),
        row(22, "here, with a slash", "./", DIRECTORY),
        row(22, "here, twice", "./.", DIRECTORY),
        row(24, "below a file", "src/a.rs/child", IO),
        row(24, "deep below a file", "src/a.rs/d/e/f", IO),
        row(25, "a directory", "src", DIRECTORY),
        row(25, "a directory, with a slash", "src/", DIRECTORY),
        row(26, "an ordinary file", "src/a.rs", FILE),
        row(26, "a new file", "new.rs", LITERAL),
        row(26, "a new file in new directories", "p/q/r/new.rs", LITERAL),
        row(
            14,
            "a name that only differs in case",
            "SRC/A.RS",
            [Fails("not_found"), Fails("not_found"), Works, Skip],
        ),
        row(20, "proc below the root", "proc/self/root/etc/passwd", LITERAL),
        row(22, "a name with a dot before the slash", "src/./a.rs", FILE),
        row(2, "the root's own name below it", "w/src/a.rs", LITERAL),
        row(3, "absolute by many slashes", "////etc/passwd", [Outside; 4]),
    ]
}
