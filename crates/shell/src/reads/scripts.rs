//! `sed` and `awk`: small languages that can write files and run programs.
//!
//! Law: only scripts of a few plain forms are called harmless.

use crate::command_risk::Danger;
use crate::options::{HarmlessOptions, skip_options};
use crate::word::ShellWord;

pub(crate) fn danger_of_sed(arguments: &[ShellWord]) -> Danger {
    let in_place = |word: &ShellWord| {
        word.literal().is_some_and(|text| {
            let cluster = text.starts_with('-') && !text.starts_with("--") && text.contains('i');
            cluster || text.starts_with("--in")
        })
    };
    if arguments.iter().any(in_place) {
        return Danger::changes("`sed -i` edits files in place");
    }
    let alone =
        ["-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-En", "-nr", "-rn", "--quiet", "--silent"];
    let mut rest = arguments;
    let mut scripts = Vec::new();
    loop {
        match skip_options(rest, &alone, &[]) {
            Some(left) => rest = left,
            None => match rest.iter().position(|word| word.is("-e")) {
                Some(at) if skip_options(&rest[..at], &alone, &[]).is_some_and(<[_]>::is_empty) => {
                    scripts.extend(rest.get(at + 1));
                    rest = rest.get(at + 2..).unwrap_or_default();
                    continue;
                }
                _ => return Danger::unknown("the options of `sed` are not understood"),
            },
        }
        break;
    }
    if scripts.is_empty() {
        scripts.extend(rest.first());
        rest = rest.get(1..).unwrap_or_default();
    }
    let is_plain =
        |script: &&ShellWord| script.literal().is_some_and(|text| text.split(';').all(only_prints));
    match scripts.iter().all(is_plain) {
        true => HarmlessOptions::NONE.judge("sed", rest),
        false => Danger::unknown("a script of `sed` may write files or run commands"),
    }
}

/// `1,5p`, `$d`, `/x/p`, `s/a/b/g`: one command, without the letters that write or run.
fn only_prints(command: &str) -> bool {
    let command = command.trim();
    if let Some(rest) = command.strip_prefix('s') {
        return substitutes(rest);
    }
    let without_address =
        command.trim_start_matches(|c: char| c.is_ascii_digit() || ",$~".contains(c));
    match without_address.strip_prefix('/') {
        None => matches!(without_address.trim(), "" | "p" | "d" | "q" | "=" | "n"),
        Some(rest) => match rest.split_once('/') {
            Some((pattern, after)) => {
                !pattern.contains('\\')
                    && matches!(after.trim(), "p" | "d" | "q" | "=" | "Ip" | "Id")
            }
            None => false,
        },
    }
}

/// The rest of an `s` command is a delimiter, two parts without it, and flags that only choose.
fn substitutes(rest: &str) -> bool {
    let mut characters = rest.chars();
    let Some(delimiter) = characters.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')
    else {
        return false;
    };
    let mut parts = 0;
    while parts < 2 {
        match characters.next() {
            Some('\n') | None => return false,
            Some('\\') => {
                characters.next();
            }
            Some(c) if c == delimiter => parts += 1,
            Some(_) => {}
        }
    }
    characters.as_str().trim_end().chars().all(|flag| "gpiI0123456789".contains(flag))
}

pub(crate) fn danger_of_awk(name: &str, arguments: &[ShellWord]) -> Danger {
    let Some(rest) = skip_options(arguments, &[], &["-F", "-v"]) else {
        return Danger::unknown(format!("the options of `{name}` are not understood"));
    };
    let Some((script, files)) = rest.split_first() else {
        return Danger::unknown(format!("`{name}` without a script"));
    };
    let is_plain = script.literal().is_some_and(|text| {
        let plain =
            |c: char| c.is_ascii_alphanumeric() || " {}$,;:=!~/.()+*%<\"&^[]?-_\n\t".contains(c);
        let acts = ["system", "getline", "close", "fflush", "printf -v", "include", "load"];
        text.chars().all(plain) && !acts.iter().any(|word| text.contains(word))
    });
    match is_plain {
        true if files
            .iter()
            .all(|file| file.literal().is_some_and(|file| !file.starts_with('-'))) =>
        {
            Danger::none()
        }
        true => Danger::unknown(format!("an argument of `{name}` may be an option")),
        false => Danger::unknown(format!("a script of `{name}` may write files or run commands")),
    }
}
