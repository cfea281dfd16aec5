//! Keys of menus, searches, panels and whole-screen views, one case each; those of the prompt are beside this file.

use super::*;
use crate::panel::Panel;
use crate::panel::approval::{Approval, PanelMode};
use crate::panel::full::{PickRow, Picking};

fn keys(world: &mut World, keys: &[Key]) {
    keys.iter().for_each(|key| {
        world.key(*key);
    });
}

#[test]
fn keys_of_the_menu() {
    let cases: &[(&[Key], &str)] = &[
        (&[Key::Tab], "/redo"),
        (&[Key::Down, Key::Tab], "/rewind"),
        (&[Key::Ctrl('n'), Key::Tab], "/rewind"),
        (&[Key::Down, Key::Up, Key::Tab], "/redo"),
        (&[Key::Down, Key::Ctrl('p'), Key::Tab], "/redo"),
        (&[Key::Up, Key::Enter], "/resume "),
        (&[Key::Escape, Key::Char('s')], "/res"),
        (&[Key::Ctrl('c')], "/re"),
        (&[Key::Backspace], "/r"),
        (&[Key::Char('w'), Key::Enter], "/rewind"),
    ];
    for (pressed, expected) in cases {
        let mut world = World::new();
        world.typed("/re");
        keys(&mut world, pressed);
        assert_eq!(world.text(), *expected, "{pressed:?}");
    }
}

#[test]
fn keys_of_the_search() {
    let cases: &[(&[Key], &str)] = &[
        (&[Key::Char('b'), Key::Enter], "build"),
        (&[Key::Char('b'), Key::Right], "build"),
        (&[Key::Char('b'), Key::End], "build"),
        (&[Key::Ctrl('r'), Key::Enter], "bench"),
        (&[Key::Up, Key::Enter], "bench"),
        (&[Key::Char('b'), Key::Char('x'), Key::Backspace, Key::Enter], "build"),
        (&[Key::Char('b'), Key::Escape], ""),
        (&[Key::Char('b'), Key::Ctrl('c')], ""),
        (&[Key::Char('b'), Key::Ctrl('r'), Key::Enter], "bench"),
    ];
    for (pressed, expected) in cases {
        let mut world = World::new();
        world.hear(Msg::History(vec!["bench".into(), "build".into()])).key(Key::Ctrl('r'));
        keys(&mut world, pressed);
        assert_eq!(world.text(), *expected, "{pressed:?}");
        assert!(world.app.prompt.search.is_none(), "{pressed:?}");
    }
}

#[test]
fn keys_that_edit_a_reason() {
    let cases: &[(&[Key], &str)] = &[
        (&[Key::Char('x')], "too muchx"),
        (&[Key::Backspace], "too muc"),
        (&[Key::Left, Key::Delete], "too muc"),
        (&[Key::Left, Key::Right, Key::Char('x')], "too muchx"),
        (&[Key::Home, Key::Char('x')], "xtoo much"),
        (&[Key::Ctrl('a'), Key::Char('x')], "xtoo much"),
        (&[Key::Home, Key::End, Key::Char('x')], "too muchx"),
        (&[Key::Home, Key::Ctrl('e'), Key::Char('x')], "too muchx"),
        (&[Key::Ctrl('u'), Key::Char('x')], "x"),
        (&[Key::Ctrl('w'), Key::Char('x')], "too x"),
    ];
    for (pressed, expected) in cases {
        let mut world = asked(1);
        world.key(Key::Char('n')).typed("too much");
        keys(&mut world, pressed);
        let no = ApprovalChoice::No { reason: Some((*expected).into()) };
        assert_eq!(world.key(Key::Enter).effects, [answer(vec![("1", no)])], "{pressed:?}");
    }
    let mut pasted = asked(1);
    pasted.key(Key::Char('n')).paste("two\nlines");
    let no = ApprovalChoice::No { reason: Some("two lines".into()) };
    assert_eq!(pasted.key(Key::Enter).effects, [answer(vec![("1", no)])]);
}

#[test]
fn keys_that_leave_a_panel() {
    let mut reason = asked(1);
    reason.key(Key::Char('n')).key(Key::Escape);
    assert!(matches!(
        &reason.app.panel,
        Some(Panel::Approval(Approval { mode: PanelMode::Asking, .. }))
    ));
    assert_eq!(reason.key(Key::Char('n')).key(Key::Ctrl('c')).effects, [Effect::Stop]);
    let mut focused = asked(1);
    assert!(focused.key(Key::Tab).app.is_focused);
    assert!(!focused.key(Key::Escape).app.is_focused, "Esc gives the prompt the focus");
    assert!(focused.app.panel.is_some());
    assert_eq!(focused.key(Key::Escape).effects, [Effect::Stop], "then it stops the turn");
    for key in [Key::Escape, Key::Ctrl('c'), Key::Ctrl('d')] {
        let mut secret = World::new();
        secret.hear(Msg::Secret { title: "key".into() }).typed("sk");
        assert_eq!(secret.key(key).effects, [Effect::Secret(None)], "{key:?}");
        assert!(secret.app.panel.is_none());
    }
}

#[test]
fn keys_of_what_fills_the_screen() {
    let leaves = [Key::Char('q'), Key::Escape, Key::Ctrl('c'), Key::Ctrl('t')];
    for key in leaves {
        let mut world = World::new();
        world.key(Key::Ctrl('t'));
        assert!(world.key(key).app.full.is_none(), "{key:?}");
    }
    let row = |id: &str| PickRow { id: id.into(), title: id.into(), note: String::new() };
    let rows: Vec<PickRow> = (0..30).map(|number| row(&format!("s{number}"))).collect();
    let cases: &[(&[Key], Option<&str>)] = &[
        (&[Key::Enter], Some("s0")),
        (&[Key::Down, Key::Enter], Some("s1")),
        (&[Key::Ctrl('n'), Key::Enter], Some("s1")),
        (&[Key::Down, Key::Up, Key::Enter], Some("s0")),
        (&[Key::Down, Key::Ctrl('p'), Key::Enter], Some("s0")),
        (&[Key::PageDown, Key::Enter], Some("s10")),
        (&[Key::PageDown, Key::PageUp, Key::Enter], Some("s0")),
        (&[Key::Char('7'), Key::Enter], Some("s7")),
        (&[Key::Char('7'), Key::Backspace, Key::Enter], Some("s0")),
        (&[Key::Escape], None),
        (&[Key::Ctrl('c')], None),
    ];
    for (pressed, chosen) in cases {
        let mut world = World::new();
        let (what, title) = (Picking::Session, "Sessions".to_owned());
        world.hear(Msg::Pick { what, title, rows: rows.clone() });
        keys(&mut world, pressed);
        let expected = chosen.map(|id| Effect::Picked { what, id: id.into() });
        assert_eq!(world.effects, expected.into_iter().collect::<Vec<_>>(), "{pressed:?}");
        assert!(world.app.full.is_none());
    }
}

#[test]
fn a_paste_never_reaches_what_fills_the_screen() {
    let mut world = World::new();
    world.key(Key::Ctrl('t')).paste("q");
    assert!(world.app.full.is_some());
    assert_eq!(world.text(), "");
}

/// Complaint 13: a key costs the same whether one block or ten thousand stand above it.
#[test]
fn a_key_costs_the_same_in_a_long_session() {
    let session = |blocks: usize| {
        let mut world = World::new();
        world.working();
        for number in 0..blocks {
            world.hear(Msg::Text(format!("paragraph {number}\n\n")));
        }
        world.hear(Msg::Text("a paragraph that streams".into()));
        world
    };
    let (mut short, mut long) = (session(1), session(10_000));
    let cost = |world: &mut World| {
        let begin = processor_time();
        for _ in 0..200 {
            world.key(Key::Char('k'));
            std::hint::black_box(crate::view::view(&world.app));
        }
        world.key(Key::Ctrl('u'));
        processor_time() - begin
    };
    // The quickest of many rounds, in turns: whatever else the machine does only ever adds to one.
    let rounds = (0..12).map(|_| (cost(&mut short), cost(&mut long)));
    let (short, long) = rounds.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap();
    assert!(long < short * 4, "{short} ns for 200 keys, {long} ns with 10,000 blocks above");
}

/// Nanoseconds that this thread had a processor.
fn processor_time() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    told.split_whitespace().next().unwrap().parse().unwrap()
}
