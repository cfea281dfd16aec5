//! Programs that run other programs: what they run is what is judged.

use super::options::skip_options;
use super::{DEEPEST, Danger, Word, assigning, programs, shell};

/// Where a program by its full path is the same as by its name.
const USUAL_PLACES: &[&str] = &["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// One command: its program and arguments.
pub(super) fn judge(words: &[Word], depth: usize) -> Danger {
    if depth > DEEPEST {
        return Danger::unknown("the command is too deep to be understood");
    }
    let Some((first, arguments)) = words.split_first() else { return Danger::none() };
    let Some(program) = first.literal() else {
        return Danger::unknown("the program is not a plain word");
    };
    let name = USUAL_PLACES.iter().find_map(|place| program.strip_prefix(place)).unwrap_or(program);
    if name.contains('/') {
        return Danger::unknown(format!("`{program}` is a program of its own"));
    }
    match name {
        "sudo" | "doas" | "su" | "pkexec" | "run0" => {
            Danger::destructive(format!("`{name}` acts with another user's rights"))
        }
        "env" => environment(arguments, depth),
        "xargs" => xargs(arguments, depth),
        "find" => find(arguments, depth),
        "sh" | "bash" | "dash" => shell_script(name, arguments, depth),
        _ => match inner(name, arguments) {
            Some(Some(rest)) => judge(rest, depth + 1),
            Some(None) => Danger::unknown(format!("the options of `{name}` are not understood")),
            None => programs::judge(name, arguments),
        },
    }
}

/// The command that a simple wrapper runs; the inner `None` when its options are not understood.
fn inner<'a>(name: &str, arguments: &'a [Word]) -> Option<Option<&'a [Word]>> {
    let rest = match name {
        "nohup" | "builtin" | "exec" => skip_options(arguments, &[], &[]),
        // `command -v ls` only looks.
        "command" if arguments.first().is_some_and(|word| word.is("-v") || word.is("-V")) => {
            Some(&[][..])
        }
        "command" => skip_options(arguments, &["-p"], &[]),
        "time" => skip_options(arguments, &["-p"], &[]),
        "setsid" => skip_options(arguments, &["-w", "--wait", "-f", "--fork"], &[]),
        "stdbuf" => skip_options(arguments, &[], &["-i", "-o", "-e"]),
        "nice" => skip_options(arguments, &[], &["-n", "--adjustment"]),
        "ionice" => skip_options(arguments, &["-t"], &["-c", "-n"]),
        "timeout" => {
            let alone = ["--preserve-status", "--foreground", "-v", "--verbose"];
            let rest = skip_options(arguments, &alone, &["-k", "--kill-after", "-s", "--signal"]);
            // The duration.
            rest.and_then(|rest| rest.get(1..))
        }
        _ => return None,
    };
    Some(rest)
}

fn environment(arguments: &[Word], depth: usize) -> Danger {
    let alone = ["-i", "-0", "--ignore-environment", "--null", "-"];
    let Some(mut rest) = skip_options(arguments, &alone, &["-u", "--unset"]) else {
        return Danger::unknown("the options of `env` are not understood");
    };
    let mut set = Danger::none();
    while let Some((first, after)) = rest.split_first() {
        match first.literal().and_then(|text| text.split_once('=')) {
            Some((name, _)) => set = set.and(assigning(name)),
            None if first == &Word::Opaque => {
                return Danger::unknown(
                    "an argument of `env` that is not known yet may be a program",
                );
            }
            None => break,
        }
        rest = after;
    }
    set.and(judge(rest, depth + 1))
}

fn xargs(arguments: &[Word], depth: usize) -> Danger {
    let alone = ["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x", "--exit"];
    let with_value =
        ["-n", "-P", "-L", "-I", "-d", "-s", "--max-args", "--max-procs", "--delimiter"];
    let Some(command) = skip_options(arguments, &alone, &with_value) else {
        return Danger::unknown("the options of `xargs` are not understood");
    };
    let options = &arguments[..arguments.len() - command.len()];
    let is_mark = |word: &&Word| word.literal().is_some_and(|text| text.starts_with("-I"));
    if options.iter().filter(is_mark).count() > 1 {
        return Danger::unknown("`xargs` with two marks takes the last of them");
    }
    let mut words: Vec<Word> = match replaced_by(options) {
        Some(mark) => command.iter().map(|word| opened(word, mark)).collect(),
        None => command.to_vec(),
    };
    // Alone it echoes; what it reads becomes arguments.
    if words.is_empty() {
        return Danger::none();
    }
    words.push(Word::Opaque);
    judge(&words, depth + 1)
}

/// The mark that `-I` puts input in the place of.
fn replaced_by(options: &[Word]) -> Option<&str> {
    let at = options
        .iter()
        .position(|word| word.literal().is_some_and(|text| text.starts_with("-I")))?;
    match options[at].literal()?.strip_prefix("-I")? {
        "" => options.get(at + 1)?.literal(),
        mark => Some(mark),
    }
}

/// A word that holds a mark can become anything.
fn opened(word: &Word, mark: &str) -> Word {
    match word.literal() {
        Some(text) if text.contains(mark) => Word::Opaque,
        _ => word.clone(),
    }
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

/// `find` looks, and with some of its words it runs, writes or deletes.
fn find(arguments: &[Word], depth: usize) -> Danger {
    let mut found = Danger::none();
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let Some(text) = first.literal() else {
            return Danger::unknown("an argument of `find` that is not known yet may be an action");
        };
        match text {
            "-delete" => return Danger::destructive("`find -delete` removes files"),
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                return Danger::destructive(format!("`find {text}` writes a file"));
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let ends = |at: &usize| {
                    let plus = rest[*at].is("+") && *at > 0 && rest[*at - 1].is("{}");
                    rest[*at].is(";") || plus
                };
                let end = (0..rest.len()).find(ends);
                let Some(end) = end else {
                    return Danger::unknown(format!("`find {text}` has no end"));
                };
                let words: Vec<Word> = rest[..end].iter().map(|word| opened(word, "{}")).collect();
                found = found.and(judge(&words, depth + 1));
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
    found
}

/// `sh -c SCRIPT`; without `-c` it runs a file or its input.
fn shell_script(name: &str, arguments: &[Word], depth: usize) -> Danger {
    let mut rest = arguments;
    let mut has_script = false;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.literal() else { break };
        let letters = text.strip_prefix('-').filter(|letters| !letters.is_empty());
        match letters {
            Some(letters) if letters.chars().all(|letter| "ceuxlo".contains(letter)) => {
                has_script |= letters.contains('c');
                if letters.contains('o') {
                    let Some((_, behind)) =
                        after.split_first().filter(|(word, _)| word.is("pipefail"))
                    else {
                        return Danger::unknown(format!(
                            "the options of `{name}` are not understood"
                        ));
                    };
                    rest = behind;
                    continue;
                }
            }
            Some(_) => {
                return Danger::unknown(format!("the options of `{name}` are not understood"));
            }
            None => break,
        }
        rest = after;
    }
    match (has_script, rest.first().and_then(Word::literal)) {
        (true, Some(script)) => shell::judge(script, depth + 1),
        (true, None) => Danger::unknown(format!("the script of `{name} -c` is not known yet")),
        (false, _) => Danger::unknown(format!("`{name}` runs whatever it is given")),
    }
}
