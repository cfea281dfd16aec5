//! Everything that can go wrong with a stream, in every language: each fault has a defined outcome,
//! and the history stays one that the vendor accepts.

use std::time::Duration;

use jm_providers::{ModelClient, Wire};
use jm_script::{Script, ScriptedModel};
use jm_types::{Cancel, Message, StreamErrorKind, Turn};

use super::world::{Heard, listen, listen_until, request, results, scripted, settings};

const ANSWER: &str = r#"
steps = [
  { thinking = "Both at once." },
  { text = "Größe 🦀 matters, and so do all the other things that one says before a call, until it is long enough." },
  { call = "read_file", args = { path = "é.rs" }, id = "one" },
  { call = "read_file", args = { path = "b.rs" }, id = "two" },
]
"#;

const GOES_ON: &str = "[[turn]]\nsteps = [{ text = \"ok\" }]\n";

fn faulty(fault: &str) -> String {
    format!("[[turn]]\n{ANSWER}\n{fault}\n{}", GOES_ON.repeat(3))
}

/// Plays the first turn, then goes on from whatever became of it: the server must accept that.
async fn suffer(client: &ModelClient, name: &str) -> Heard {
    let heard = listen(client, request("Go.")).await;
    go_on(client, &heard.turn, name).await;
    heard
}

async fn go_on(client: &ModelClient, turn: &Turn, name: &str) {
    let mut next = request("Go.");
    next.messages.push(turn.message.clone());
    next.messages.push(results(turn));
    next.messages.push(Message::user("Go on."));
    let heard = listen(client, next).await;
    assert_eq!((heard.error.clone(), heard.turn.message.text().as_str()), (None, "ok"), "{name}");
}

/// A turn in short: `thinking text calls`.
fn outline(turn: &Turn) -> String {
    format!("{:?} {:?}", turn.message.parts, turn.stop)
}

/// Faults of the way, which change nothing in what arrives.
#[tokio::test]
async fn harmless_faults_change_nothing() {
    let unknown = r#"event: news\ndata: {\"type\":\"news\",\"index\":9,\"x\":[1]}\n\n"#;
    let faults = [
        ("CRLF", "fault = { line_end = \"crlf\" }".to_owned()),
        ("CR", "fault = { line_end = \"cr\" }".to_owned()),
        ("byte order mark", "fault = { bom = true }".to_owned()),
        ("keep-alive comments", "fault = { keep_alive = true }".to_owned()),
        ("one byte at a time", "fault = { chunk = 1 }".to_owned()),
        ("CRLF in chunks of three", "fault = { chunk = 3, line_end = \"crlf\" }".to_owned()),
        ("a slow drip within bounds", "fault = { chunk = 700, chunk_delay_ms = 1 }".to_owned()),
        (
            "unknown events",
            format!(
                "fault = {{ inject = [{{ after = 0, raw = \"{unknown}\" }}, {{ after = 3, raw = \"{unknown}\" }}] }}"
            ),
        ),
        (
            "comments and blank lines",
            "fault = { inject = [{ after = 2, raw = \"\\n\\n: x\\n\\nretry: 9\\n\\n\" }] }"
                .to_owned(),
        ),
        ("no content type", "headers = { content-type = \"\" }".to_owned()),
    ];
    for wire in Wire::ALL {
        let whole = suffer(&*scripted(&faulty(""), wire).await, "no fault").await;
        assert_eq!(whole.turn.message.calls().count(), 2);
        for (name, fault) in &faults {
            let heard = suffer(&*scripted(&faulty(fault), wire).await, name).await;
            assert_eq!(heard.error, None, "{wire:?} {name}");
            assert_eq!(outline(&heard.turn), outline(&whole.turn), "{wire:?} {name}");
        }
    }
}

/// A cut after every event and within every event: retried while nothing was shown, truncated
/// after, never a success without the end, and never a call without its own.
#[tokio::test]
async fn a_cut_anywhere_is_truncated_and_the_history_stays_valid() {
    for wire in Wire::ALL {
        let whole = suffer(&*scripted(&faulty(""), wire).await, "no fault").await;
        let mut cuts = 0;
        for after in 0.. {
            let script = faulty(&format!("fault = {{ cut_after = {after} }}"));
            let heard = suffer(&*scripted(&script, wire).await, &format!("{wire:?} {after}")).await;
            if heard.error.is_none() && heard.retries() == 0 {
                assert_eq!(outline(&heard.turn), outline(&whole.turn), "{wire:?} {after}");
                break;
            }
            check_cut(&heard, &whole, &format!("{wire:?} after {after} events"));
            cuts += 1;
        }
        assert!(cuts >= 7, "{wire:?}: {cuts}");
        for bytes in (0..3000).step_by(149) {
            let script = faulty(&format!("fault = {{ cut_after_bytes = {bytes} }}"));
            let heard = suffer(&*scripted(&script, wire).await, &format!("{wire:?} {bytes}")).await;
            if heard.error.is_some() || heard.retries() > 0 {
                check_cut(&heard, &whole, &format!("{wire:?} after {bytes} bytes"));
            }
        }
    }
}

fn check_cut(heard: &Heard, whole: &Heard, name: &str) {
    match heard.retries() {
        0 => assert_eq!(heard.end(), "truncated", "{name}"),
        _ => assert_eq!(
            (heard.end().as_str(), heard.turn.message.text().as_str()),
            ("EndTurn", "ok"),
            "{name}"
        ),
    }
    let known: Vec<_> = whole.turn.message.calls().collect();
    for call in heard.turn.message.calls() {
        assert!(known.contains(&call), "{name}: {call:?} is not whole");
    }
    for cut in &heard.turn.cut {
        assert!(!heard.turn.message.calls().any(|call| call.id == cut.call.id), "{name}");
    }
}

#[tokio::test]
async fn faults_of_the_vendor() {
    // The end, and how often the request was sent again.
    let every: &[(&str, &str, &str, usize)] = &[
        ("429, come back now", "status = 429\nheaders = { retry-after = \"0\" }", "EndTurn", 1),
        ("429 in milliseconds", "status = 429\nheaders = { retry-after-ms = \"1\" }", "EndTurn", 1),
        (
            "429, come back tomorrow",
            "status = 429\nheaders = { retry-after = \"86400\" }",
            "rate_limited",
            0,
        ),
        ("529", "status = 529", "EndTurn", 1),
        ("503", "status = 503", "EndTurn", 1),
        ("500", "status = 500", "EndTurn", 1),
        ("502 with a page", "status = 502\nbody = \"<html>Bad gateway</html>\"", "EndTurn", 1),
        ("401", "status = 401\nbody = \"no\"", "authentication", 0),
        ("402", "status = 402\nbody = \"pay\"", "quota", 0),
        ("400", "status = 400", "bad_request", 0),
        ("404", "status = 404", "bad_request", 0),
        (
            "too long",
            "status = 400\nbody = '{\"error\":{\"message\":\"prompt is too long\"}}'",
            "context_too_long",
            0,
        ),
        (
            "a redirect",
            "status = 302\nheaders = { location = \"http://127.0.0.1:9/\" }",
            "bad_request",
            0,
        ),
        ("an empty answer", "raw = \"\"", "EndTurn", 1),
        ("only comments", "raw = \": hello\\n\\n\"", "EndTurn", 1),
        ("a page instead of a stream", "raw = \"<html>Sign in</html>\"", "malformed", 0),
        (
            "no JSON",
            "fault = { inject = [{ after = 1, raw = \"data: {oops\\n\\n\" }] }",
            "malformed",
            0,
        ),
        (
            "JSON of another kind",
            "fault = { inject = [{ after = 1, raw = \"data: 7\\n\\n\" }] }",
            "ToolUse",
            0,
        ),
        (
            "an event of 50 MB",
            "fault = { inject = [{ after = 1, bytes = 50_000_000 }] }",
            "too_large",
            0,
        ),
        (
            "overloaded at once",
            "fault = { inject = [{ after = 0, error = \"overloaded_error\" }] }",
            "EndTurn",
            1,
        ),
        (
            "overloaded midway",
            "fault = { inject = [{ after = 7, error = \"overloaded_error\" }] }",
            "overloaded",
            0,
        ),
        (
            "a failure midway",
            "fault = { inject = [{ after = 7, error = \"server_error\" }] }",
            "server_error",
            0,
        ),
        (
            "a refusal of the request midway",
            "fault = { inject = [{ after = 7, error = \"invalid_request_error\" }] }",
            "bad_request",
            0,
        ),
    ];
    for wire in Wire::ALL {
        for (name, fault, end, retries) in every {
            // Gemini has no word for a number that is no object.
            let end = match (*name, wire) {
                ("JSON of another kind", Wire::Gemini) => "malformed",
                _ => end,
            };
            let client = scripted(&faulty(fault), wire).await;
            let heard = suffer(&client, &format!("{wire:?} {name}")).await;
            assert_eq!(
                (heard.end().as_str(), heard.retries()),
                (end, *retries),
                "{wire:?} {name}: {:?}",
                heard.error
            );
        }
    }
}

#[tokio::test]
async fn giving_up_keeps_the_vendors_word() {
    let script = "[[turn]]\nstatus = 529\nbody = \"busy\"\n".repeat(4);
    let heard = listen(&*scripted(&script, Wire::Anthropic).await, request("Go.")).await;
    assert_eq!((heard.end().as_str(), heard.retries()), ("overloaded", 2));
    let message = heard.error.unwrap().message;
    assert!(message.ends_with("529: busy"), "{message}");
}

#[tokio::test]
async fn silence_beyond_the_limit_is_an_idle_timeout() {
    for wire in Wire::ALL {
        let mut settings = settings();
        settings.timeouts.idle = Duration::from_millis(400);
        settings.retry.attempts = 1;
        for (name, after, end) in [("at once", 0, "idle_timeout"), ("midway", 6, "idle_timeout")] {
            let script = faulty(&format!("fault = {{ stall_after = {after} }}"));
            let script = Script::parse(&script).unwrap().in_wire(wire);
            let client = ScriptedModel::start(script, &settings).await.unwrap();
            let heard = listen(&client, request("Go.")).await;
            assert_eq!(heard.end(), end, "{wire:?} {name}");
        }
    }
}

#[tokio::test]
async fn an_endless_answer_is_ended() {
    let endless = "[[turn]]\nsteps = [{ text = \"more and more \", repeat = 1_000_000_000 }]\n";
    let script = || Script::parse(endless).unwrap();
    let mut small = settings();
    small.sizes.answer = Some(100_000);
    let client = ScriptedModel::start(script(), &small).await.unwrap();
    assert_eq!(listen(&client, request("Go.")).await.end(), "too_large");
    let mut short = settings();
    short.timeouts.total = Some(Duration::from_millis(300));
    short.retry.attempts = 1;
    let client = ScriptedModel::start(script(), &short).await.unwrap();
    assert_eq!(listen(&client, request("Go.")).await.end(), "idle_timeout");
}

#[tokio::test]
async fn a_cancelled_stream_says_so_and_stops() {
    for wire in Wire::ALL {
        let client = scripted(&faulty("fault = { stall_after = 6 }"), wire).await;
        let cancel = Cancel::new();
        let from_outside = cancel.clone();
        let (heard, ()) = tokio::join!(listen_until(&client, request("Go."), cancel), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            from_outside.cancel();
        });
        assert_eq!(
            heard.error.map(|error| error.kind),
            Some(StreamErrorKind::Cancelled),
            "{wire:?}"
        );
        let early = Cancel::new();
        early.cancel();
        let heard = listen_until(&client, request("Go."), early).await;
        assert_eq!((heard.end().as_str(), heard.events.len()), ("cancelled", 0), "{wire:?}");
    }
}

/// A server that speaks no TLS, and none at all, which on this machine is told at once.
#[tokio::test]
async fn a_server_that_cannot_be_reached_is_a_connection_error() {
    let client = scripted(&faulty(""), Wire::Anthropic).await;
    let plain = client.server.base_url(Wire::Anthropic);
    let addresses =
        [(plain.replace("http://", "https://"), 2), ("http://127.0.0.1:1".to_owned(), 0)];
    for (address, retries) in addresses {
        let mut settings = settings();
        settings.environment.insert("ANTHROPIC_BASE_URL".to_owned(), address.clone());
        settings.environment.insert("ANTHROPIC_API_KEY".to_owned(), "sk-x".to_owned());
        let client = ModelClient::open("anthropic/claude-opus-5-5", &settings).unwrap();
        let heard = listen(&client, request("Go.")).await;
        assert_eq!((heard.end().as_str(), heard.retries()), ("connection", retries), "{address}");
    }
}

/// The model's own faults, not the connection's: each is a turn that can be answered.
#[tokio::test]
async fn odd_turns_leave_a_history_that_is_accepted() {
    let cases: &[(&str, &str, usize, usize)] = &[
        (
            "the same id twice",
            "steps = [{ call = \"read_file\", args = { path = \"a\" }, id = \"x\" }, { call = \"read_file\", args = { path = \"b\" }, id = \"x\" }]",
            2,
            0,
        ),
        (
            "an id that no vendor takes",
            "steps = [{ call = \"read_file\", args = { path = \"a\" }, id = \"a b/c\" }]",
            1,
            0,
        ),
        (
            "a limit within a call",
            "steps = [{ text = \"hm\" }, { call = \"read_file\", args = { path = \"a\" } }]\nstop = \"max_tokens\"",
            0,
            1,
        ),
        (
            "a limit within the first of all",
            "steps = [{ call = \"read_file\", args = {} }]\nstop = \"max_tokens\"",
            0,
            1,
        ),
        (
            "a limit within words",
            "steps = [{ call = \"read_file\", args = {}, id = \"x\" }, { text = \"and\" }]\nstop = \"max_tokens\"",
            1,
            0,
        ),
        ("nothing at all", "steps = []", 0, 0),
        ("only thoughts", "steps = [{ thinking = \"hm\" }]", 0, 0),
        ("only blanks", "steps = [{ text = \"  \\n\" }]", 0, 0),
        ("a refusal", "steps = [{ text = \"No.\" }]\nstop = \"refusal\"", 0, 0),
    ];
    for wire in Wire::ALL {
        for (name, steps, calls, cut) in cases {
            // Chat numbers its calls apart from its words, so there a call comes after them.
            let client = scripted(&format!("[[turn]]\n{steps}\n{GOES_ON}"), wire).await;
            let heard = suffer(&client, &format!("{wire:?} {name}")).await;
            assert_eq!(heard.error, None, "{wire:?} {name}");
            let counts = (heard.turn.message.calls().count(), heard.turn.cut.len());
            assert_eq!(counts, (*calls, *cut), "{wire:?} {name}: {:?}", heard.turn);
        }
    }
}
