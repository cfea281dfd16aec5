//! A tree with everything that makes searching hard.

use std::path::Path;

/// Words for a file's lines, the same in every run.
fn text(seed: usize, lines: usize) -> String {
    const WORDS: &[&str] = &[
        "needle",
        "hay",
        "fn main() {",
        "NOTE: this",
        "let x_12 = 345;",
        "é日本語",
        "NEEDLE",
        "foo.bar()",
        "",
        "  indented",
        "trailing  ",
        "a b c",
        "tree",
        "see(the) bees",
    ];
    let word = |at: usize| WORDS[(seed * 31 + at * 7 + at / 3) % WORDS.len()];
    (0..lines).map(|at| format!("{} {}\n", word(at), word(at * at + 1))).collect()
}

pub(crate) fn grow(root: &Path) {
    let write = |path: &str, bytes: &[u8]| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    for number in 0..60 {
        let folder =
            ["", "src/", "src/deep/", "docs/", "packages/one/", "weird names/"][number % 6];
        let ending = ["rs", "md", "txt", "log"][number % 4];
        write(&format!("{folder}file{number}.{ending}"), text(number, number * 3).as_bytes());
    }
    for name in [
        "main.rs",
        "src/main.rs",
        "a*b.txt",
        "new\nline.txt",
        "é.md",
        " space ",
        "-dash",
        "$(x)",
        "日本.rs",
    ] {
        write(name, text(name.len(), 20).as_bytes());
    }
    for hidden in [".hidden.rs", ".config/settings.txt", "src/.cache/x.rs"] {
        write(hidden, text(5, 10).as_bytes());
    }
    write(".gitignore", b"*.log\n!keep.log\n/target/\nsecret*\n# comment\n");
    write("keep.log", text(1, 5).as_bytes());
    write("target/out.rs", text(2, 5).as_bytes());
    write("src/target/in.rs", text(3, 5).as_bytes());
    write("secret.txt", text(4, 5).as_bytes());
    write("packages/.gitignore", b"one/*.md\n!one/file4.md\n");
    write("packages/one/.ignore", b"*.txt\n!file28.log\n");
    write("docs/.rgignore", b"file3*\n");
    write("docs/deep/.gitignore", b"*\n!*.md\n");
    write("docs/deep/a.md", b"needle in the deep\n");
    write("docs/deep/a.rs", b"needle not here\n");
    write("binary.bin", b"needle\0needle\n");
    write("latin.txt", b"caf\xe9 needle \xff\xfe needle\n");
    write("crlf.txt", b"needle\r\nNOTE\r\nneedle$\r\n");
    write("no_newline.txt", b"needle");
    write("empty.txt", b"");
    write("mark.txt", b"\xef\xbb\xbfneedle a\n");
    let wide: Vec<u8> =
        "\u{feff}needle a\nNOTE é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write("wide.txt", &wide);
    let long =
        format!("{} needle {} end of a long line\nneedle\n", "x".repeat(20_000), "é".repeat(5_000));
    write("long.txt", long.as_bytes());
    std::os::unix::fs::symlink("src/main.rs", root.join("link.rs")).unwrap();
    std::os::unix::fs::symlink("src", root.join("linked")).unwrap();
    std::os::unix::fs::symlink("..", root.join("src/up")).unwrap();
}
