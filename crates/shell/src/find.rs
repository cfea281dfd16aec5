//! The words of `find`: those that look, and those that run, write or delete.

use crate::command_risk::Danger;
use crate::word::ShellWord;

/// A command that `find` runs for what it found. The mark `{}` becomes a path.
pub(crate) type FoundCommand = Vec<ShellWord>;

/// The commands that `-exec` and its like run; the reason when they cannot be told.
pub(crate) fn commands_of_find(arguments: &[ShellWord]) -> Result<Vec<FoundCommand>, String> {
    let mut commands = Vec::new();
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let Some(action) = first.literal().filter(|text| is_execution(text)) else { continue };
        let Some(end) = end_of_command(rest) else {
            return Err(format!("`find {action}` has no end"));
        };
        commands.push(rest[..end].iter().map(replace_mark).collect());
        rest = &rest[end + 1..];
    }
    Ok(commands)
}

fn is_execution(text: &str) -> bool {
    matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir")
}

/// The `;`, or the `+` behind `{}`.
fn end_of_command(words: &[ShellWord]) -> Option<usize> {
    let is_end = |at: &usize| {
        let is_plus = words[*at].is("+") && *at > 0 && words[*at - 1].is("{}");
        words[*at].is(";") || is_plus
    };
    (0..words.len()).find(is_end)
}

/// A word that holds the mark can become anything; alone it is a path that begins as the search did,
/// never with a dash.
fn replace_mark(word: &ShellWord) -> ShellWord {
    match word.literal() {
        Some("{}") => ShellWord::Begins("./".to_owned()),
        Some(text) if text.contains("{}") => ShellWord::Opaque,
        _ => word.clone(),
    }
}

/// The danger of `find` itself; the commands that it runs are judged as commands of their own.
pub(crate) fn danger_of_find(arguments: &[ShellWord]) -> Danger {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let Some(text) = first.literal() else {
            return Danger::unknown("an argument of `find` that is not known yet may be an action");
        };
        match text {
            "-delete" => return Danger::destructive("`find -delete` removes files"),
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                return Danger::changes(format!("`find {text}` writes a file"));
            }
            _ if is_execution(text) => {
                let Some(end) = end_of_command(rest) else {
                    return Danger::unknown(format!("`find {text}` has no end"));
                };
                rest = &rest[end + 1..];
            }
            _ if text.starts_with('-')
                && !is_number(text)
                && !LOOKING.contains(&text)
                && !is_newer(text) =>
            {
                return Danger::unknown(format!("`find {text}` may do more than look"));
            }
            _ => {}
        }
    }
    Danger::none()
}

/// `-5`, `-10k`: a value.
fn is_number(text: &str) -> bool {
    text[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// `-newermt` and its like.
fn is_newer(text: &str) -> bool {
    text.strip_prefix("-newer")
        .is_some_and(|rest| rest.len() == 2 && rest.chars().all(|letter| "aBcmt".contains(letter)))
}

/// Words of `find` that choose or print. A negative number belongs to the word before it.
const LOOKING: &[&str] = &[
    "-H",
    "-L",
    "-P",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-a",
    "-amin",
    "-and",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-d",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-ls",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mount",
    "-mtime",
    "-name",
    "-newer",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-path",
    "-perm",
    "-print",
    "-print0",
    "-printf",
    "-prune",
    "-quit",
    "-readable",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-true",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-writable",
    "-xdev",
    "-xtype",
];
