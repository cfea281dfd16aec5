//! OUT, TERM, PROC: commands that flood, linger, or talk to the terminal.
//!
//! Law: each runs in a process of its own, because what is checked (memory, children) is a
//! process's.

use std::time::{Duration, Instant};

use jm_types::{Limits, ToolCall, ToolEvent, ToolResult};
use serde_json::json;

use crate::world::{
    Hearing, NOT_HANGING, OPENINGS, Setting, World, forget_peak_memory, in_own_process, peak_memory,
};

const MOST_GROWTH: u64 = 64 << 20;

fn setting(seconds: u64) -> Setting {
    let mut setting = Setting::new(OPENINGS[0]);
    setting.timeouts.shell_commands = Duration::from_secs(seconds);
    setting
}

fn run(world: &mut World, command: &str) -> ToolResult {
    world.call("run_command", json!({ "command": command }))
}

/// Shows bytes as a program's output, whatever they are.
fn show(world: &mut World, bytes: &[u8]) -> ToolResult {
    world.write("bytes", bytes);
    run(world, "cat bytes")
}

/// OUT 179, I7, NFR-PERF-04, T-TMO-01, FR-TOOL-CMD-01: floods are bounded in memory, size and time.
#[test]
fn floods_are_bounded() {
    in_own_process("output::floods_are_bounded", || {
        let floods = [
            ("yes", "timeout"),
            ("yes >&2", "timeout"),
            ("yes & yes >&2", "timeout"),
            ("cat /dev/zero", "timeout"),
            ("while :; do printf '\\033[31m\\000\\377'; done", "timeout"),
        ];
        for (command, error) in floods {
            let mut world = World::with(setting(1));
            world.hearing = Hearing::AndForgetting;
            forget_peak_memory();
            let (before, began) = (peak_memory(), Instant::now());
            let result = run(&mut world, command);
            assert_eq!(
                result.error.map(|code| code.name()),
                Some(error),
                "{command}: {:.200}",
                result.content
            );
            assert!(began.elapsed() < NOT_HANGING, "{command}: {:?}", began.elapsed());
            let grown = peak_memory().saturating_sub(before);
            assert!(grown < MOST_GROWTH, "{command}: {} MB", grown >> 20);
        }
    });
}

/// OUT 179, 183, T-OUT-02: a megabyte of noise, and a hundred of them.
#[test]
fn noise_is_harmless() {
    in_own_process("output::noise_is_harmless", || {
        let mut world = World::with(setting(20));
        world.hearing = Hearing::AndForgetting;
        for command in ["head -c 1000000 /dev/urandom", "head -c 1000000 /dev/urandom >&2; exit 3"]
        {
            forget_peak_memory();
            let before = peak_memory();
            let result = run(&mut world, command);
            assert!(result.content.len() <= 64 * 1024, "{}", result.content.len());
            assert!(peak_memory().saturating_sub(before) < MOST_GROWTH);
        }
    });
}

/// A number that only our commands have in their arguments.
fn tag() -> String {
    let mut noise = [0_u8; 4];
    rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty()).unwrap();
    format!("9{:09}", u32::from_ne_bytes(noise) % 1_000_000_000)
}

fn alive(tag: &str) -> Vec<(i32, String)> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| {
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        let number = process.file_name().to_str()?.parse().ok()?;
        Some((number, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|(_, line)| line.contains(tag)).collect()
}

/// I4: nothing with the tag is alive half a second later, and we have no zombies.
fn check_gone(command: &str, tag: &str) {
    let until = Instant::now() + Duration::from_millis(500);
    while !alive(tag).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let left = alive(tag);
    // A test that fails leaves nothing behind either.
    for pid in left.iter().filter_map(|(number, _)| rustix::process::Pid::from_raw(*number)) {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap_or_default();
    }
    assert_eq!(left, Vec::new(), "I4: {command}");
    let us = std::process::id();
    let children = std::fs::read_to_string(format!("/proc/self/task/{us}/children"));
    assert_eq!(children.unwrap_or_default(), "", "I4, a zombie: {command}");
}

/// PROC 157-168, FR-EXE-05, decision 25: a command ends with its first process, and
/// whatever it started ends with it.
#[test]
fn nothing_outlives_a_command() {
    in_own_process("output::nothing_outlives_a_command", || {
        let commands = [
            ("158 in the background", "sleep TAG & echo done"),
            ("158 without pipes", "sleep TAG >/dev/null 2>&1 </dev/null & echo done"),
            ("159 its own session", "setsid sleep TAG & echo done"),
            ("159 both", "sleep TAG & setsid sleep TAG & echo done"),
            ("160 forked twice", "( ( setsid sleep TAG & ) & ) ; echo done"),
            (
                "160 a session of sessions",
                "setsid sh -c 'setsid sh -c \"sleep TAG & wait\" & wait' & echo done",
            ),
            ("161 nohup", "nohup sleep TAG >/dev/null 2>&1 & echo done"),
            ("162 deaf", "sh -c 'trap \"\" TERM HUP INT QUIT; sleep TAG; sleep TAG' & echo done"),
            ("163 stopped", "sleep TAG & kill -STOP $!; echo done"),
            (
                "164 many",
                "i=0; while [ $i -lt 100 ]; do sleep TAG & setsid sleep TAG & i=$((i+1)); done; echo done",
            ),
            ("166 without descriptors", "setsid sleep TAG <&- >&- 2>&- & echo done"),
            ("167 busy", "setsid sh -c 'while :; do : TAG; done' & echo done"),
            ("168 another name", "setsid bash -c 'exec -a innocent sleep TAG' & echo done"),
        ];
        let mut world = World::with(setting(20));
        for (what, command) in commands {
            let tag = tag();
            let began = Instant::now();
            let result = run(&mut world, &command.replace("TAG", &tag));
            assert!(began.elapsed() < NOT_HANGING, "{what}: {:?}", began.elapsed());
            assert_eq!(result.content.trim(), "done", "{what}");
            check_gone(what, &tag);
        }
    });
}

/// PROC 157, 162, 163, T-TMO-01, FR-EXE-05: nor a timeout, and what was printed is kept.
#[test]
fn nothing_outlives_a_timeout() {
    in_own_process("output::nothing_outlives_a_timeout", || {
        let commands = [
            "echo before; sleep TAG",
            "echo before; trap '' TERM INT HUP; while :; do sleep TAG; done",
            "echo before; setsid sleep TAG & setsid sh -c 'sleep TAG'",
            "echo before; sleep TAG & kill -STOP $$",
        ];
        let mut world = World::with(setting(1));
        for command in commands {
            let tag = tag();
            let began = Instant::now();
            let result = run(&mut world, &command.replace("TAG", &tag));
            assert_eq!(
                result.error.map(|code| code.name()),
                Some("timeout"),
                "{command}: {}",
                result.content
            );
            assert!(result.content.contains("before"), "{command}: {}", result.content);
            assert!(began.elapsed() < NOT_HANGING, "{command}: {:?}", began.elapsed());
            check_gone(command, &tag);
        }
    });
}

/// PROC 170, T-CAN-01, FR-EXE-05: nor being cancelled, once or twice.
#[test]
fn nothing_outlives_a_cancelled_command() {
    in_own_process("output::nothing_outlives_a_cancelled_command", || {
        let mut world = World::with(setting(30));
        let tag = tag();
        let canceller = world.engine.canceller();
        let seen = tag.clone();
        let presser = std::thread::spawn(move || {
            while alive(&format!("sleep {seen}")).len() < 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
            canceller.cancel();
            canceller.cancel();
        });
        let began = Instant::now();
        let result = run(&mut world, &format!("echo before; setsid sleep {tag} & sleep {tag}"));
        presser.join().unwrap();
        assert!(began.elapsed() < NOT_HANGING, "{:?}", began.elapsed());
        assert_eq!(result.error.map(|code| code.name()), Some("cancelled"), "{}", result.content);
        check_gone("cancelled", &tag);
    });
}

/// PROC 158-160, decision 6: also when another command begins and ends meanwhile.
#[test]
fn nothing_outlives_commands_side_by_side() {
    in_own_process("output::nothing_outlives_commands_side_by_side", || {
        let tag = tag();
        std::thread::scope(|threads| {
            for pause in ["0.00", "0.01", "0.02"] {
                let command = format!("setsid sleep {tag} & sleep {pause}; echo done");
                threads.spawn(move || {
                    let mut world = World::with(setting(20));
                    for _ in 0..8 {
                        assert_eq!(run(&mut world, &command).content, "done\n");
                    }
                });
            }
        });
        check_gone("side by side", &tag);
    });
}

/// PROC 173-175, 178, ENV 245, FR-EXE-06: no input, no terminal, no descriptors, exit codes told.
#[test]
fn what_a_command_gets_and_gives() {
    in_own_process("output::what_a_command_gets_and_gives", || {
        let mut world = World::with(setting(10));
        let cases = [
            ("cat; echo end", Ok("end\n")),
            ("exec </dev/tty", Err("")),
            ("pwd -P", Ok("{W}\n")),
            ("for fd in /proc/self/fd/*; do echo ${fd##*/}; done | sort -n | tail -1", Ok("*")),
            ("exit 0", Ok("")),
            ("exit 1", Err("exit code 1")),
            ("exit 126", Err("exit code 126")),
            ("no-such-program-here", Err("exit code 127")),
            ("kill -9 $$", Err("exit code 137")),
            ("kill -SEGV $$", Err("exit code 139")),
            ("echo out; echo err >&2; exit 2", Err("out\n\n\n[stderr]\nerr\n")),
        ];
        for (command, expected) in cases {
            let result = run(&mut world, command);
            match expected {
                Ok("*") => assert!(
                    result.content.trim().parse::<u32>().unwrap() <= 3,
                    "{}",
                    result.content
                ),
                Ok(text) => assert_eq!(result.content, world.fill(text), "{command}"),
                Err(text) => {
                    assert_eq!(
                        result.error.map(|code| code.name()),
                        Some("execution_failed"),
                        "{command}"
                    );
                    assert!(result.content.contains(text), "{command}: {}", result.content);
                }
            }
        }
        let threads = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = threads();
        (0..100).for_each(|_| assert_eq!(run(&mut world, "true").error, None));
        assert!(threads() <= before + 2, "178: {before} descriptors became {}", threads());
    });
}

/// OUT 180: a character whose bytes come apart arrives whole, in the result and in the events.
#[test]
fn characters_that_come_in_pieces() {
    in_own_process("output::characters_that_come_in_pieces", || {
        let mut world = World::with(setting(10));
        let command =
            r"for byte in 360 237 230 200; do printf '\'$byte; sleep 0.05; done; printf '\303'";
        let result = run(&mut world, command);
        assert_eq!(result.content, "\u{1f600}\u{fffd}");
        assert_eq!(chunks(&world), "\u{1f600}\u{fffd}");
    });
}

fn chunks(world: &World) -> String {
    let text = |event: &ToolEvent| match event {
        ToolEvent::StdoutChunk { chunk, .. } | ToolEvent::StderrChunk { chunk, .. } => {
            Some(chunk.clone())
        }
        ToolEvent::Started { .. } | ToolEvent::Noticed { .. } | ToolEvent::Completed { .. } => None,
    };
    world.heard.iter().filter_map(text).collect()
}

/// OUT 187, 188, FR-OUT-01, NFR-PERF-04: a slow face loses nothing, and the order holds.
#[test]
fn a_slow_listener_hears_everything_in_order() {
    in_own_process("output::a_slow_listener_hears_everything_in_order", || {
        let mut setting = setting(30);
        setting.events = 1;
        setting.time = Duration::from_secs(30);
        let mut world = World::with(setting);
        world.hearing = Hearing::Slowly(Duration::from_millis(20));
        let command =
            |id: &str| ToolCall::new(id, "run_command", &json!({ "command": "seq 1 100000" }));
        world.batch(vec![command("1"), command("2")]);
        let all: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(chunks(&world).len(), 2 * all.len());
        assert!(chunks(&world) == all.repeat(2), "every chunk, in order");
        let order: Vec<String> = world.heard.iter().map(kind).collect();
        let mut distinct = order.clone();
        distinct.dedup();
        let expected =
            ["1 started", "1 chunk", "1 completed", "2 started", "2 chunk", "2 completed"];
        assert_eq!(distinct, expected);
    });
}

fn kind(event: &ToolEvent) -> String {
    match event {
        ToolEvent::Started { tool_call_id, .. } => format!("{tool_call_id} started"),
        ToolEvent::StdoutChunk { tool_call_id, .. }
        | ToolEvent::StderrChunk { tool_call_id, .. } => {
            format!("{tool_call_id} chunk")
        }
        ToolEvent::Noticed { tool_call_id, .. } => format!("{tool_call_id} noticed"),
        ToolEvent::Completed { tool_call_id } => format!("{tool_call_id} completed"),
    }
}

/// OUT 182, decision 11: the start and the end of much output are kept.
#[test]
fn head_and_tail_are_kept() {
    in_own_process("output::head_and_tail_are_kept", || {
        let mut world = World::with(setting(10));
        let result = run(&mut world, "seq 1 200000; echo the verdict");
        assert!(result.content.starts_with("1\n2\n3\n"), "{:.100}", result.content);
        assert!(result.content.ends_with("200000\nthe verdict\n"));
        assert!(result.content.contains("bytes omitted"));
        let result = run(&mut world, "seq 1 200000; echo the error >&2; exit 1");
        assert!(result.content.contains("exit code 1"), "{:.100}", result.content);
        assert!(result.content.contains("[stderr]\nthe error"));
        assert!(result.content.len() <= 64 * 1024);
    });
}

/// OUT 181, T-OUT-01, FR-OUT-04a: a sweep of limits over output of both streams.
#[test]
fn output_within_any_limit() {
    in_own_process("output::output_within_any_limit", || {
        for limit in (0..64).chain([100, 128, 200, 500, 1000]) {
            let mut setting = setting(10);
            setting.limits = Limits { output_bytes: limit, ..Limits::default() };
            let mut world = World::with(setting);
            let command = "printf '\u{e9}\u{20ac}%.0s' $(seq 300); printf '\u{1f600}%.0s' $(seq 300) >&2; exit 3";
            let result = run(&mut world, command);
            assert!(result.content.len() <= limit, "{limit}: {}", result.content.len());
            assert!(!result.content.contains('\u{fffd}'), "{limit}: a character was split");
        }
    });
}

/// TERM 183-185, T-OUT-02, FR-OUT-02, NFR-SEC-05, C-05: nothing that a program prints reaches the
/// terminal as a command.
#[test]
fn terminal_sequences_are_defused() {
    let sequences: &[&str] = &[
        "\x1b[31m",
        "\x1b[2J\x1b[H",
        "\x1b[?1049h",
        "\x1b[6n",
        "\x1b[8;1;1t",
        "\x1b]0;t\x07",
        "\x1b]2;t\x1b\\",
        "\x1b]4;1;#fff\x07",
        "\x1b]7;file://h/\x07",
        "\x1b]8;;http://e/\x07l\x1b]8;;\x07",
        "\x1b]9;n\x07",
        "\x1b]10;?\x07",
        "\x1b]52;c;aGk=\x07",
        "\x1b]133;A\x07",
        "\x1b]777;notify;a;b\x07",
        "\x1b]1337;File=:AA\x07",
        "\x1bP+q544e\x1b\\",
        "\x1b_Gf=24;AAAA\x1b\\",
        "\x1b^pm\x1b\\",
        "\x1bXsos\x1b\\",
        "\x1bN",
        "\x1bO",
        "\x1bc",
        "\x1b(0",
        "\x1b)B",
        "\x0e\x0f",
        "\u{9b}31m",
        "\u{9d}0;t\u{9c}",
        "\u{90}q\u{9c}",
        "\u{84}\u{85}\u{8d}",
        "\r",
        "\x08\x08\x08",
        "\x0b",
        "\x0c",
        "\x7f",
        "\x05",
        "\x07",
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{feff}",
        "\u{e0041}",
        "\x1b[",
        "\x1b",
        "\x1b]0;unterminated",
        "\x1bP",
        "\x1b[999999999999999999999999m",
        "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18m",
        "\x1b\x1b\x1b[A",
        "\x1b[\x1b]0;x\x07",
        "\x1b[3\x0a1m",
    ];
    in_own_process("output::terminal_sequences_are_defused", || {
        let mut world = World::with(setting(10));
        for sequence in sequences {
            let result = show(&mut world, format!("BEFORE{sequence}\nAFTER\n").as_bytes());
            let told = (sequence, &result.display);
            assert!(result.display.starts_with("BEFORE"), "{told:?}");
            assert!(result.display.ends_with("\nAFTER\n"), "{told:?}");
            // Backspaces draw over what was printed; the model gets what remains.
            let kept = if sequence.starts_with('\x08') { "BEFORE\nAFTER\n" } else { sequence };
            assert!(result.content.contains(kept), "decision 24: the model gets it verbatim");
        }
        for raw in [&b"\x9b31m"[..], b"\x9d0;t\x9c", b"\xff\xfe", b"\xc3\x28", b"\xf0\x9f\x98"] {
            let result = show(&mut world, &[b"BEFORE", raw, b"\nAFTER\n"].concat());
            assert!(result.display.ends_with("\nAFTER\n"), "{raw:?}: {:?}", result.display);
        }
        let split = r"printf '\033'; sleep 0.05; printf ']52;c;'; sleep 0.05; printf 'aGk=\007ok'";
        assert_eq!(run(&mut world, split).display, "ok");
        assert!(chunks(&world).ends_with("ok") && !chunks(&world).contains("52;c"));
    });
}

/// TERM 185: long runs of marks and invisibles take linear time.
#[test]
fn a_million_marks_take_no_time() {
    for text in ["\u{301}", "\u{202e}", "\x1b", "\x1b[", "\r", "\u{200d}"] {
        let many = text.repeat(1_000_000);
        let began = Instant::now();
        let shown = jm_types::text::sanitize(&many);
        assert!(jm_types::text::is_terminal_safe(&shown));
        assert!(began.elapsed() < NOT_HANGING, "{text:?}: {:?}", began.elapsed());
    }
}
