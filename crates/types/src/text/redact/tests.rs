//! Planted secrets do not survive; ordinary text does.

use super::{NAME_TRIGGERS, NAMED_SHAPES, Redactor, SHAPES, looks_like_secret, redact};
use proptest::prelude::*;
use proptest::sample::select;
use regex::Regex;
use std::time::{Duration, Instant};

const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAx2vX0YxP0b9q4Yc3b2JmXwz0p8aZ0v1n3c5e7g9i1k3m5o7q
A1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q7R8S9T0U1V2W3X4Y5Z6a7b8c9d0e1f2
q83v8w==
-----END RSA PRIVATE KEY-----";

#[test]
fn shapes_are_redacted() {
    let cases = [
        ("key sk-proj-abcDEF0123456789abcd.", "key [redacted]."),
        ("sk-ant-api03-abcDEF0123456789-_x", "[redacted]"),
        ("x ghp_0123456789abcdefghijABCDEFGHIJ012345 y", "x [redacted] y"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("xoxb-123456789012-abcdef", "[redacted]"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted]"),
        ("sk_live_4eC39HqLyjWDarjtT1", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "[redacted]"),
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted]"),
        ("authorization: basic am9lOmh1bnRlcjI=", "authorization: basic [redacted]"),
        ("https://joe:hunter2@example.org/x?y", "https://joe:[redacted]@example.org/x?y"),
        ("redis://:p@ss@cache:6379", "redis://:[redacted]@cache:6379"),
        ("PASSWORD=swordfish make", "PASSWORD=[redacted] make"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("?access_token=abcdef&page=2", "?access_token=[redacted]&page=2"),
        ("mysql --password swordfish -u joe", "mysql --password [redacted] -u joe"),
        ("gh --api-key=abcdef", "gh --api-key=[redacted]"),
        (r#"{"client_secret": "abcdef", "a": 1}"#, r#"{"client_secret": "[redacted]", "a": 1}"#),
        (r#"{\"token\":\"abcdef\"}"#, r#"{\"token\":\"[redacted]\"}"#),
        ("X-Api-Key: a1b2c3d4", "X-Api-Key: [redacted]"),
        ("password = 'hunter two'", "password = 'hunter two'"),
    ];
    for (text, shown) in cases {
        assert_eq!(redact(text), shown);
        assert_eq!(redact(shown), shown, "twice");
        assert_eq!(looks_like_secret(text), text != shown);
    }
}

#[test]
fn private_keys_lose_their_body() {
    let shown = "-----BEGIN RSA PRIVATE KEY-----\n[redacted]\n-----END RSA PRIVATE KEY-----";
    let with_headers =
        KEY.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n", 1);
    let headers_shown =
        shown.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n", 1);
    let cases = [
        (KEY.to_owned(), shown.to_owned()),
        (KEY.replace('\n', "\r\n"), shown.replace('\n', "\r\n")),
        (KEY.replace('\n', r"\n"), shown.replace('\n', r"\n")),
        (KEY.replace('\n', " "), shown.replace('\n', " ")),
        (KEY.replace('\n', "\n    "), shown.replace('\n', "\n    ")),
        (format!("{KEY}\n{KEY}"), format!("{shown}\n{shown}")),
        (KEY[..120].to_owned(), "-----BEGIN RSA PRIVATE KEY-----\n[redacted]".to_owned()),
        (with_headers, headers_shown),
    ];
    for (text, expected) in cases {
        assert_eq!(redact(&text), expected);
    }
}

#[test]
fn innocent_text_stays() {
    let cases = [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "fn next(&mut self) -> Token { let token = self.advance(); token }",
        "pub token: Option<String>, max_tokens: 4096, tokens=12",
        "class=\"sk-fading-circle-container\" task-0123456789abcdefghij",
        "precision highp_float; https://example.org:8080/a@b git@github.com:o/r.git",
        "The bearer authentication scheme; if token==other { }",
        "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEAx2vX0YxP0b9q\n-----END CERTIFICATE-----",
        "mkdir -p secrets --password-file pw.txt --token --verbose",
        // Nothing that a shell would act on may disappear.
        "token=$(rm -rf ~) password=`id` secret=';rm -rf ~;' --token $(id) https://a:$(id)@b",
        "-----BEGIN PRIVATE KEY-----; rm -rf ~; echo -----END PRIVATE KEY-----",
    ];
    for text in cases {
        assert_eq!(redact(text), text);
        assert!(!looks_like_secret(text));
    }
}

#[test]
fn known_values_are_redacted() {
    let redactor = Redactor::new(["correct horse", "short", "horse battery", " padded-value\n"]);
    let cases = [
        ("a correct horse!", "a [redacted]!"),
        ("correct horse battery staple", "[redacted] staple"),
        ("short", "short"),
        ("x=padded-value;", "x=[redacted];"),
    ];
    for (text, shown) in cases {
        assert_eq!(redactor.redact(text), shown);
    }
    assert_eq!(format!("{redactor:?}"), "Redactor(3 values)");
}

#[test]
fn every_expression_compiles_and_every_trigger_is_lower_case() {
    for shape in SHAPES.iter().map(|(_, shape)| shape).chain(&NAMED_SHAPES) {
        Regex::new(&shape.full_pattern()).unwrap();
    }
    for word in SHAPES.iter().flat_map(|(triggers, _)| *triggers).chain(NAME_TRIGGERS) {
        assert_eq!(*word, word.to_lowercase());
    }
}

#[test]
fn hostile_repetition_takes_linear_time() {
    let pieces = [
        "eyJ",
        "token",
        "token=",
        "token: ",
        "--token ",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nA:",
        "AAAAAAAAAAAAAAAA\n",
        "bearer ",
        "sk-",
        "password\"\t",
        "eyJaaaaaaaa.",
    ];
    for piece in pieces {
        let start = Instant::now();
        redact(&format!("-----BEGIN PRIVATE KEY-----{}", piece.repeat(100_000 / piece.len())));
        // Linear is far below a second; quadratic would be minutes.
        assert!(start.elapsed() < Duration::from_secs(20), "{piece}");
    }
}

/// A random secret, and the text that contains it.
fn planted() -> impl Strategy<Value = (String, String)> {
    let frame = select(
        &[
            ("", "ghp_[A-Za-z0-9]{20,36}1", ""),
            ("", "sk-[A-Za-z0-9]{20,48}1", ""),
            ("", "sk-ant-[A-Za-z0-9-]{20,48}1", ""),
            ("", "AKIA[A-Z0-9]{16}", ""),
            ("", "xox[abp]-[0-9]{10,12}-[a-z0-9]{10,20}", ""),
            ("", "AIza[A-Za-z0-9_-]{35}", ""),
            ("", "eyJ[A-Za-z0-9_-]{20,40}\\.eyJ[A-Za-z0-9_-]{20,40}\\.[A-Za-z0-9_-]{20,40}", ""),
            ("Bearer ", "[A-Za-z0-9._~+/-]{8,40}7", ""),
            ("https://joe:", "[A-Za-z0-9.!*_~%-]{3,20}", "@host/path"),
            ("password=", "[A-Za-z0-9.!*_~%/+-]{3,20}", ""),
            ("DB_PASSWD='", "[A-Za-z0-9.!*_~%/+-]{3,20}", "'"),
            ("\"api_key\": \"", "[A-Za-z0-9.!*_~%/+-]{3,20}", "\""),
            ("--password ", "[A-Za-z0-9][A-Za-z0-9.!*_~%/+-]{3,20}", ""),
            (
                "-----BEGIN PRIVATE KEY-----\n",
                "[A-Za-z0-9+/]{64}\n[A-Za-z0-9+/]{20}==",
                "\n-----END PRIVATE KEY-----",
            ),
        ][..],
    );
    let text = "[ -~\n]{0,40}";
    (frame, text, text).prop_flat_map(|((before, secret, after), left, right)| {
        proptest::string::string_regex(secret)
            .unwrap()
            .prop_map(move |secret| (format!("{left}\n{before}{secret}{after}\n{right}"), secret))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_planted_secret_never_survives((text, secret) in planted()) {
        let shown = redact(&text);
        prop_assert!(!shown.contains(&secret), "{secret:?} in {shown:?}");
        prop_assert!(looks_like_secret(&text));
    }

    #[test]
    fn a_known_value_never_survives(value in "[ -~é漢]{8,40}", left in any::<String>(), right in any::<String>()) {
        let value = value.trim();
        prop_assume!(value.len() >= 8 && !"[redacted]".contains(value));
        let shown = Redactor::new([value]).redact(&format!("{left}{value}{right}{value}"));
        prop_assert!(!shown.contains(value));
    }
}
