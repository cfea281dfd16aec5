//! Rules against tables of command lines: bypasses that no rule allows, and compounds that rules do.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use jm_shell::{
    CommandLine, CommandRules, PatternError, Readers, RuleContext, RuleSource, RuleText,
};
use jm_types::Verdict;

const BYPASS: &str = include_str!("bypass.txt");
const COMPOUNDS: &str = include_str!("compounds.txt");
const OFFERS: &str = include_str!("offers.txt");

const CONTEXT: RuleContext<'_> = RuleContext { readers: Readers::Allowed, roots: &["/w/project"] };

fn rules(list: &[(Verdict, &str)]) -> CommandRules {
    let sources: Vec<RuleSource> =
        list.iter().map(|(verdict, pattern)| RuleSource::new(*verdict, *pattern)).collect();
    CommandRules::new(&sources).unwrap()
}

/// The rules and the command lines of a table.
fn table(text: &'static str) -> (CommandRules, Vec<(&'static str, String)>) {
    let (head, attempts) = text.split_once("\nattempts\n").unwrap();
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let patterns = head.lines().filter(is_line).skip(1);
    let allowed: Vec<(Verdict, &str)> = patterns.map(|line| (Verdict::Allow, line)).collect();
    let lines = attempts.lines().filter(is_line).map(|line| {
        let (kind, command) = line.split_once('\t').unwrap_or(("", line));
        let command = command.replace("\\n", "\n").replace("\\t", "\t");
        let named = [("<CR>", "\r"), ("<NBSP>", "\u{a0}"), ("<BEL>", "\u{7}")];
        (kind, named.iter().fold(command, |command, (name, c)| command.replace(name, c)))
    });
    (rules(&allowed), lines.collect())
}

fn told(rules: &CommandRules, command: &str) -> (Verdict, Vec<String>) {
    let line = CommandLine::of_shell(command);
    let decision = rules.decide(&line, &CONTEXT);
    (decision.verdict, decision.explain(&line, rules))
}

#[test]
fn no_bypass_is_allowed() {
    let (rules, attempts) = table(BYPASS);
    assert!(attempts.len() >= 200, "{}", attempts.len());
    let through: Vec<(String, Vec<String>)> = attempts
        .into_iter()
        .map(|(_, command)| (told(&rules, &command), command))
        .filter(|((verdict, _), _)| *verdict == Verdict::Allow)
        .map(|((_, why), command)| (command, why))
        .collect();
    assert!(through.is_empty(), "{} are allowed: {through:#?}", through.len());
}

#[test]
fn compounds_are_allowed_once_their_parts_are() {
    let (rules, attempts) = table(COMPOUNDS);
    assert!(attempts.len() >= 80, "{}", attempts.len());
    let asked: Vec<(String, Vec<String>)> = attempts
        .into_iter()
        .map(|(_, command)| (told(&rules, &command), command))
        .filter(|((verdict, _), _)| *verdict != Verdict::Allow)
        .map(|((_, why), command)| (command, why))
        .collect();
    assert!(asked.is_empty(), "{} are asked about: {asked:#?}", asked.len());
}

#[test]
fn always_offers_a_sensible_prefix_or_nothing() {
    let rules = CommandRules::default();
    let lines = OFFERS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (command, expected) = line.split_once(" => ").unwrap();
        let command = CommandLine::of_shell(&command.replace("\\n", "\n"));
        let show = |rule: &RuleText| match rule.runs_project_code {
            true => format!("{} project", rule.pattern),
            false => rule.pattern.clone(),
        };
        let offered = rules.derive(&command, &CONTEXT);
        let offered = offered.map(|rules| rules.iter().map(show).collect::<Vec<_>>().join(" ; "));
        assert_eq!(offered.unwrap_or("never".to_owned()), expected, "{line}");
    }
}

#[test]
fn what_is_offered_allows_the_line_and_no_bypass() {
    let (_, attempts) = table(BYPASS);
    for (_, command) in attempts {
        let line = CommandLine::of_shell(&command);
        let Some(offered) = CommandRules::default().derive(&line, &CONTEXT) else { continue };
        let list: Vec<(Verdict, &str)> =
            offered.iter().map(|rule| (Verdict::Allow, rule.pattern.as_str())).collect();
        assert_eq!(told(&rules(&list), &command).0, Verdict::Allow, "{command}: {offered:?}");
        let is_wide = |rule: &RuleText| rule.pattern.starts_with('*') || rule.pattern == "evil *";
        assert!(!offered.iter().any(is_wide), "{command}: {offered:?}");
    }
}

#[test]
fn denials_are_found_in_any_disguise() {
    let rules = rules(&[
        (Verdict::Allow, "git *"),
        (Verdict::Allow, "ls *"),
        (Verdict::Deny, "rm *"),
        (Verdict::Deny, "git push --force *"),
        (Verdict::Ask, "git push *"),
        (Verdict::Ask, "cargo publish *"),
    ]);
    let cases: &[(Verdict, &str)] = &[
        (Verdict::Deny, "rm x"),
        (Verdict::Deny, "/bin/rm x"),
        (Verdict::Deny, "/home/x/rm x"),
        (Verdict::Deny, "\\rm x"),
        (Verdict::Deny, "ls; rm x"),
        (Verdict::Deny, "ls | xargs rm"),
        (Verdict::Deny, "sudo rm x"),
        (Verdict::Deny, "sudo -u a rm x"),
        (Verdict::Deny, "sudo sh -c 'rm x'"),
        (Verdict::Deny, "env A=1 timeout 5 rm x"),
        (Verdict::Deny, "find . -exec rm {} +"),
        (Verdict::Deny, "sh -c 'ls; rm x'"),
        (Verdict::Deny, "FOO=1 rm x > y"),
        (Verdict::Deny, "echo $(rm x)"),
        (Verdict::Deny, "cat <<EOF\n$(rm x)\nEOF"),
        (Verdict::Deny, "f() { rm x; }; f"),
        (Verdict::Deny, "eval 'rm x'"),
        (Verdict::Deny, "[[ -f x ]] && rm x"),
        (Verdict::Deny, "ls ( rm x"),
        (Verdict::Deny, "bash -x -c 'rm y' --"),
        (Verdict::Deny, "git push --force"),
        (Verdict::Deny, "git push origin --force"),
        (Verdict::Deny, "git push origin main --forc"),
        (Verdict::Deny, "git push --force=x"),
        (Verdict::Ask, "git push origin $x"),
        (Verdict::Deny, "git --no-pager -C x push --force origin"),
        (Verdict::Ask, "git push"),
        (Verdict::Ask, "git --no-pager push origin main"),
        (Verdict::Ask, "git $x"),
        (Verdict::Ask, "cargo publish --dry-run"),
        (Verdict::Ask, "eval ls"),
        (Verdict::Ask, "echo rm; mytool"),
        (Verdict::Allow, "git log rm"),
        (Verdict::Allow, "echo rm"),
        (Verdict::Allow, "ls rm"),
    ];
    for (expected, command) in cases {
        let (verdict, why) = told(&rules, command);
        assert_eq!(verdict, *expected, "{command}: {why:?}");
    }
}

#[test]
fn reasons_name_the_rule_and_the_word() {
    let rules = rules(&[
        (Verdict::Allow, "find *"),
        (Verdict::Allow, "cargo test *"),
        (Verdict::Deny, "rm *"),
        (Verdict::Allow, "sed *"),
    ]);
    let cases: &[(&str, &str)] = &[
        ("cargo test -q", "rule `cargo test *` allows `cargo test -q`"),
        ("rm x", "rule `rm *` denies `rm x`"),
        ("ls", "`ls` only reads"),
        ("cargo build", "no rule for `cargo build`"),
        (
            "find . -delete",
            "no rule for `find . -delete`; `find *` does not match: `-delete` removes files and is \
             not spelt out in the rule",
        ),
        ("find . -exec ./x \\;", "no rule for `./x`"),
        (
            "cargo test --config a",
            "no rule for `cargo test --config a`; `cargo test *` does not match: `--config` loads \
             code or settings and is not spelt out in the rule",
        ),
        (
            "cargo test $x",
            "no rule for `cargo test …`; `cargo test *` does not match: an argument is only known \
             when it runs and may be an option",
        ),
        (
            "FOO=1 cargo test",
            "no rule for `FOO=1 cargo test`; `cargo test *` does not match: it sets FOO, which the \
             rule does not spell out",
        ),
        (
            "cargo test > log",
            "no rule for `cargo test > log`; `cargo test *` does not match: `> log` uses a file \
             and is not spelt out in the rule",
        ),
        (
            "sed 'w x' f",
            "no rule for `sed 'w x' f`; `sed *` does not match: a script of `sed` may write files \
             or run commands",
        ),
        (
            "cd .. && cargo test",
            "no rule for `cargo test`; `cargo test *` does not match: `cd ..` may leave the \
             workspace",
        ),
        ("$x", "`…` cannot be judged: the program is not a plain word"),
        ("eval 'rm x'", "`eval 'rm x'` cannot be judged, and holds what rule `rm *` denies"),
    ];
    for (command, expected) in cases {
        let (_, told) = told(&rules, command);
        assert!(told.iter().any(|line| line == expected), "{command}: {told:#?}");
    }
    let line = CommandLine::of_shell("find . -exec ls {} +");
    let strict = RuleContext { readers: Readers::NeedRules, roots: &[] };
    let told = rules.decide(&line, &strict).explain(&line, &rules);
    let expected = "no rule for `find . -exec ls {} +`; `find *` does not match: `-exec` runs a \
                    program and is not spelt out in the rule";
    assert_eq!(told, [expected, "no rule for `ls ./…`"]);
}

#[test]
fn wrong_rules_are_refused_with_the_reason() {
    let cases: &[(&str, PatternError)] = &[
        ("", PatternError::Empty),
        ("git 'log", PatternError::Unclosed),
        ("*", PatternError::NoProgram),
        ("* --version", PatternError::NoProgram),
        ("git lo*", PatternError::StarInWord("lo*".to_owned())),
        ("git log; ls", PatternError::ShellSyntax("log;".to_owned())),
        ("git log | cat", PatternError::ShellSyntax("|".to_owned())),
        ("git log $x", PatternError::ShellSyntax("$x".to_owned())),
        ("git log > ", PatternError::NoFile(">".to_owned())),
        ("git log > x y", PatternError::BehindRedirection("y".to_owned())),
        ("PATH=. git log", PatternError::Hook("PATH".to_owned())),
        ("LD_PRELOAD=x git log", PatternError::Hook("LD_PRELOAD".to_owned())),
        ("eval *", PatternError::ChangesShell("eval".to_owned())),
        ("timeout 5 cargo test", PatternError::Wrapper("timeout".to_owned())),
        ("env A=1 cargo test", PatternError::Wrapper("env".to_owned())),
        ("sh -c ls", PatternError::Wrapper("sh".to_owned())),
        ("bash *", PatternError::Wrapper("bash".to_owned())),
        ("python *", PatternError::TooWide("`python` runs what follows it".to_owned())),
        ("python -c *", PatternError::TooWide("`python` runs what follows it".to_owned())),
        ("python -m *", PatternError::TooWide("`python -m` runs what follows it".to_owned())),
        ("sudo *", PatternError::TooWide("`sudo` runs what follows it".to_owned())),
        ("uv run *", PatternError::TooWide("`uv run` runs what follows it".to_owned())),
        ("uv run --with x *", PatternError::TooWide("`uv run` runs what follows it".to_owned())),
        ("ssh host *", PatternError::TooWide("`ssh` takes a whole command".to_owned())),
        ("tee *", PatternError::TooWide("`tee` takes a whole command".to_owned())),
        ("git config *", PatternError::TooWide("`git config` takes a whole command".to_owned())),
        ("sudo tee *", PatternError::TooWide("`tee` takes a whole command".to_owned())),
    ];
    for (pattern, expected) in cases {
        let found = CommandRules::new(&[RuleSource::new(Verdict::Allow, *pattern)]);
        assert_eq!(found.unwrap_err().error, *expected, "{pattern}");
    }
}

#[test]
fn examples_are_checked_when_rules_are_loaded() {
    let load = |text: &str| {
        let source: RuleSource = toml::from_str(text).unwrap();
        CommandRules::new(&[source]).map(|_| ()).map_err(|error| error.to_string())
    };
    let good = "pattern = 'cargo test *'\nverdict = 'allow'\nmatch = ['cargo test -q', \
                'cd x && cargo test']\nnot_match = ['cargo build', 'cargo test --config x']";
    assert_eq!(load(good), Ok(()));
    let bad = "pattern = 'cargo test *'\nverdict = 'allow'\nmatch = ['cargo build']";
    let error = "rule `cargo test *`: the example `cargo build` of `match` is not matched: no rule \
                 for `cargo build`";
    assert_eq!(load(bad), Err(error.to_owned()));
    let bad = "pattern = 'rm *'\nverdict = 'deny'\nnot_match = ['sudo rm x']";
    let error = "rule `rm *`: the example `sudo rm x` of `not_match` is matched";
    assert_eq!(load(bad), Err(error.to_owned()));
}

#[test]
fn readers_count_only_if_they_may() {
    let rules = rules(&[(Verdict::Allow, "cargo test *")]);
    let strict = RuleContext { readers: Readers::NeedRules, roots: &[] };
    let decide =
        |command: &str, context| rules.decide(&CommandLine::of_shell(command), context).verdict;
    assert_eq!(decide("ls && cargo test", &CONTEXT), Verdict::Allow);
    assert_eq!(decide("ls && cargo test", &strict), Verdict::Ask);
    assert_eq!(decide("cd x && y=1; cargo test", &strict), Verdict::Allow);
    assert_eq!(decide("cd /w/project && cargo test", &strict), Verdict::Ask);
}

#[test]
fn an_argument_vector_has_no_shell() {
    let rules = rules(&[(Verdict::Allow, "git commit *"), (Verdict::Allow, "cargo test *")]);
    let decide = |argv: &[&str], variables: &[(&str, &str)]| {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let line = CommandLine::of_argv(&argv).with_environment(variables.iter().copied());
        rules.decide(&line, &CONTEXT).verdict
    };
    assert_eq!(decide(&["git", "commit", "-m", "$(x); y > z"], &[]), Verdict::Allow);
    assert_eq!(decide(&["sh", "-c", "git commit -m x; y"], &[]), Verdict::Ask);
    assert_eq!(decide(&["cargo", "test"], &[("NO_COLOR", "1")]), Verdict::Allow);
    assert_eq!(decide(&["cargo", "test"], &[("RUSTC", "x")]), Verdict::Ask);
    assert_eq!(decide(&["cargo", "test", "a\u{202e}b"], &[]), Verdict::Ask);
}

#[test]
fn length_and_number_lift_no_verdict() {
    let rules = rules(&[(Verdict::Allow, "git status *"), (Verdict::Deny, "rm *")]);
    for count in [1, 49, 50, 51, 500, 3000] {
        let harmless = vec!["git status"; count].join("; ");
        assert_eq!(told(&rules, &harmless).0, Verdict::Allow, "{count}");
        assert_eq!(told(&rules, &format!("{harmless}; ./evil")).0, Verdict::Ask, "{count}");
        assert_eq!(told(&rules, &format!("{harmless}; rm x")).0, Verdict::Deny, "{count}");
    }
    assert_eq!(told(&rules, &"git status;".repeat(100_000)).0, Verdict::Ask);
    assert_ne!(told(&rules, &format!("{}./evil", "env ".repeat(100))).0, Verdict::Allow);
}

/// Two hundred rules, a line of three parts, parsed once.
#[test]
fn a_decision_takes_microseconds() {
    let patterns: Vec<String> = (0..100)
        .flat_map(|number| [format!("tool{number} run *"), format!("git log --x{number} *")])
        .chain(["cargo test *".to_owned(), "git commit *".to_owned()])
        .collect();
    let list: Vec<(Verdict, &str)> =
        patterns.iter().map(|pattern| (Verdict::Allow, pattern.as_str())).collect();
    let rules = rules(&list);
    let line = CommandLine::of_shell("cd x && cargo test --workspace && git commit -m 'x y'");
    let once = || {
        let start = std::time::Instant::now();
        for _ in 0..100 {
            assert_eq!(rules.decide(&line, &CONTEXT).verdict, Verdict::Allow);
        }
        start.elapsed().as_nanos() / 100
    };
    // The best of many, because others use the machine; without optimisation it is slower.
    let best = (0..50).map(|_| once()).min().unwrap();
    let limit = if cfg!(debug_assertions) { 100_000 } else { 10_000 };
    assert!(best < limit, "{best} ns");
}
