//! Programs that run other programs: one layer is taken off, and what it runs is judged instead.
//!
//! Law: a wrapper whose options are not all understood hides its command, so it is opaque.

use crate::find::commands_of_find;
use crate::options::skip_options;
use crate::word::ShellWord;

/// A command with its outermost wrapper off.
#[derive(Debug, PartialEq)]
pub(crate) enum Peeled {
    /// No wrapper: the command itself.
    Bare,
    /// The wrapper runs this, with these variables set, and does nothing else.
    Inner {
        words: Vec<ShellWord>,
        environment: Vec<(String, Option<String>)>,
    },
    /// A shell's script.
    Script(String),
    /// The wrapper does something itself, and runs these.
    Besides(Vec<Vec<ShellWord>>),
    /// The wrapper runs this with other rights, so that a rule for the inner command is not enough.
    Elevated(Vec<ShellWord>),
    Opaque(String),
}

/// The directories in which a program by its full path is the same as by its name.
const USUAL_PLACES: &[&str] = &["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// The name of a program that is called by its name or from a usual directory.
pub(crate) fn usual_name(program: &str) -> &str {
    let name = USUAL_PLACES.iter().find_map(|place| program.strip_prefix(place));
    name.filter(|name| !name.contains('/')).unwrap_or(program)
}

/// Takes the outermost wrapper off a command.
pub(crate) fn peel(words: &[ShellWord]) -> Peeled {
    let Some((first, arguments)) = words.split_first() else { return Peeled::Bare };
    let Some(program) = first.literal() else {
        return Peeled::Opaque("the program is not a plain word".to_owned());
    };
    match usual_name(program) {
        "sudo" | "doas" => elevated(arguments),
        "env" => environment(arguments),
        "xargs" => xargs(arguments),
        "find" => match commands_of_find(arguments) {
            Ok(commands) if commands.is_empty() => Peeled::Bare,
            Ok(commands) => Peeled::Besides(commands),
            Err(why) => Peeled::Opaque(why),
        },
        name @ ("sh" | "bash" | "dash") => shell_script(name, arguments),
        name => simple(name, arguments),
    }
}

fn not_understood(name: &str) -> Peeled {
    Peeled::Opaque(format!("the options of `{name}` are not understood"))
}

/// Wrappers that only change how their command is run.
fn simple(name: &str, arguments: &[ShellWord]) -> Peeled {
    let rest = match name {
        "nohup" | "builtin" | "exec" => skip_options(arguments, &[], &[]),
        // `command -v ls` only looks.
        "command" if arguments.first().is_some_and(|word| word.is("-v") || word.is("-V")) => {
            Some(&[][..])
        }
        "command" | "time" => skip_options(arguments, &["-p"], &[]),
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
        _ => return Peeled::Bare,
    };
    match rest {
        Some(rest) => Peeled::Inner { words: rest.to_vec(), environment: Vec::new() },
        None => not_understood(name),
    }
}

fn elevated(arguments: &[ShellWord]) -> Peeled {
    let alone = ["-n", "-E", "-H", "-k", "-S", "-b", "-A", "-B", "--non-interactive"];
    let valued = ["-u", "-g", "-p", "-r", "-t", "-T", "-U", "--user", "--group"];
    let Some(mut rest) = skip_options(arguments, &alone, &valued) else {
        // The whole is judged, and nothing within is seen.
        return Peeled::Elevated(Vec::new());
    };
    while let [first, after @ ..] = rest
        && first.literal().is_some_and(|text| text.contains('='))
    {
        rest = after;
    }
    Peeled::Elevated(rest.to_vec())
}

fn environment(arguments: &[ShellWord]) -> Peeled {
    let alone = ["-i", "-0", "--ignore-environment", "--null", "-"];
    let Some(mut rest) = skip_options(arguments, &alone, &["-u", "--unset"]) else {
        return not_understood("env");
    };
    let options = &arguments[..arguments.len() - rest.len()];
    let removes = |word: &ShellWord| {
        word.literal().is_some_and(|text| !matches!(text, "-0" | "--null" | "--"))
    };
    let mut environment = Vec::new();
    if options.iter().any(removes) {
        // No variable has such a name, so no rule spells it: what is missing cannot protect.
        environment.push(("(unset)".to_owned(), None));
    }
    while let Some((first, after)) = rest.split_first() {
        match first {
            ShellWord::Literal(text) => match text.split_once('=') {
                Some((name, value)) => environment.push((name.to_owned(), Some(value.to_owned()))),
                None => break,
            },
            ShellWord::Begins(_) | ShellWord::Opaque => {
                let why = "an argument of `env` that is not known yet may be a program";
                return Peeled::Opaque(why.to_owned());
            }
        }
        rest = after;
    }
    Peeled::Inner { words: rest.to_vec(), environment }
}

fn xargs(arguments: &[ShellWord]) -> Peeled {
    let alone = ["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x", "--exit"];
    let with_value =
        ["-n", "-P", "-L", "-I", "-d", "-s", "--max-args", "--max-procs", "--delimiter"];
    let Some(command) = skip_options(arguments, &alone, &with_value) else {
        return not_understood("xargs");
    };
    let options = &arguments[..arguments.len() - command.len()];
    let is_mark = |word: &&ShellWord| word.literal().is_some_and(|text| text.starts_with("-I"));
    if options.iter().filter(is_mark).count() > 1 {
        return Peeled::Opaque("`xargs` with two marks takes the last of them".to_owned());
    }
    let mut words: Vec<ShellWord> = match replaced_by(options) {
        Some(mark) => command.iter().map(|word| opened(word, mark)).collect(),
        None => command.to_vec(),
    };
    // Alone it echoes; what it reads becomes arguments.
    if !words.is_empty() {
        words.push(ShellWord::Opaque);
    }
    Peeled::Inner { words, environment: Vec::new() }
}

/// The mark that `-I` puts input in the place of.
fn replaced_by(options: &[ShellWord]) -> Option<&str> {
    let at = options
        .iter()
        .position(|word| word.literal().is_some_and(|text| text.starts_with("-I")))?;
    match options[at].literal()?.strip_prefix("-I")? {
        "" => options.get(at + 1)?.literal(),
        mark => Some(mark),
    }
}

/// A word that holds a mark can become anything.
fn opened(word: &ShellWord, mark: &str) -> ShellWord {
    match word.literal() {
        Some(text) if text.contains(mark) => ShellWord::Opaque,
        _ => word.clone(),
    }
}

/// `sh -c SCRIPT`; without `-c` it runs a file or its input.
fn shell_script(name: &str, arguments: &[ShellWord]) -> Peeled {
    let mut rest = arguments;
    let mut has_script = false;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.literal() else { break };
        let letters = text.strip_prefix('-').filter(|letters| !letters.is_empty());
        match letters {
            Some("-version") if arguments.len() == 1 => return Peeled::Bare,
            Some(letters) if letters.chars().all(|letter| "ceuxlo".contains(letter)) => {
                has_script |= letters.contains('c');
                rest = match (letters.contains('o'), after.split_first()) {
                    (false, _) => after,
                    (true, Some((word, behind))) if word.is("pipefail") => behind,
                    (true, _) => return not_understood(name),
                };
            }
            Some(_) => return not_understood(name),
            None => break,
        }
    }
    match (has_script, rest.first().and_then(ShellWord::literal)) {
        (true, Some(script)) => Peeled::Script(script.to_owned()),
        (true, None) => Peeled::Opaque(format!("the script of `{name} -c` is not known yet")),
        (false, Some(_)) => Peeled::Bare,
        (false, None) => Peeled::Opaque(format!("`{name}` runs whatever it is given")),
    }
}
