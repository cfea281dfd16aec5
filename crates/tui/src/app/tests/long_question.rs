//! Questions that do not fit above the prompt: they open by themselves, are read, answered and left.

use jm_types::{ChangeWord, HeldChange};

use super::*;
use crate::panel::full::Full;
use crate::text::Line;

/// A question about changes of a command, with so many names.
fn held(names: usize) -> World {
    let preview = (0..names).map(|number| format!("changed {number}\n")).collect();
    let change = |number: usize| HeldChange {
        path: format!("f{number}"),
        change: ChangeWord::Changed,
        inside: 0,
    };
    let changes = (0..names).map(change).collect();
    let call = CallQuestion { fingerprint: "keep layer".into(), changes, ..request("1") };
    let calls = vec![CallQuestion { preview: Some(preview), ..call }];
    let mut world = World::new();
    world.working().hear(Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None })));
    world
}

fn is_open(world: &World) -> bool {
    matches!(world.app.full, Some(Full::Question(_)))
}

fn kept() -> Effect {
    answer(vec![("1", ApprovalChoice::Once)])
}

/// FR-TUI-01: a yes counts once everything was in sight.
#[test]
fn it_is_answered_after_it_was_read() {
    assert_eq!(held(3).key(Key::Char('y')).effects, [kept()], "a short one at once");
    let mut long = held(100);
    assert!(is_open(&long), "by itself");
    assert_eq!(long.key(Key::Char('y')).effects, []);
    assert_eq!(long.key(Key::End).key(Key::Char('y')).effects, [], "the middle was not in sight");
    long.key(Key::Home);
    for _ in 0..5 {
        long.key(Key::Char(' '));
    }
    assert!(is_open(&long));
    assert_eq!(long.key(Key::Char('y')).effects, [kept()]);
    assert!(long.app.full.is_none() && long.app.panel.is_none());
}

#[test]
fn some_files_are_kept_from_the_page_once_it_was_read() {
    let mut long = held(100);
    assert_eq!(long.key(Key::Char('k')).effects, []);
    assert!(is_open(&long), "not all of them were in sight");
    for _ in 0..5 {
        long.key(Key::Char(' '));
    }
    assert!(!is_open(long.key(Key::Char('k'))), "names are typed above the prompt");
    let paths = vec!["f1".to_owned(), "f41".to_owned()];
    let some = answer(vec![("1", ApprovalChoice::KeepSome { paths })]);
    assert_eq!(long.typed("2 42").key(Key::Enter).effects, [some]);
}

#[test]
fn it_is_left_to_the_panel_and_stays_left() {
    for key in [Key::Escape, Key::Char('q')] {
        let mut world = held(100);
        assert!(!is_open(world.key(key)), "{key:?}");
        assert!(world.app.panel.is_some());
        assert!(!is_open(world.hear(Msg::Tick)));
        assert_eq!(world.key(Key::Char('y')).effects, [], "not all of it was in sight");
        assert!(is_open(&world), "it is shown again");
        assert!(!is_open(world.key(Key::Char('d'))));
        assert!(is_open(world.key(Key::Char('d'))));
        let looked = world.key(Key::Char('v')).effects.clone();
        assert!(matches!(&looked[..], [Effect::Look(text)] if text.lines().count() > 100));
        assert_eq!(world.key(Key::Char('q')).key(Key::Char('y')).effects, [kept()]);
    }
}

/// Nobody who types finds another screen beneath the hands.
#[test]
fn it_opens_when_nobody_types() {
    let question = || {
        let calls = (1..=12).map(|number| request(&number.to_string())).collect();
        Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None }))
    };
    let mut typing = World::new();
    typing.working().typed("and then").hear(question());
    assert!(!is_open(&typing));
    assert!(is_open(typing.key(Key::Tab)), "Tab gives it the focus");
    let mut sent = World::new();
    sent.working();
    sent.app.last_typed = Some(sent.app.clock + 900);
    assert!(!is_open(sent.hear(question())), "typed less than half a second ago");
    assert!(is_open(sent.hear(Msg::Tick)));
    let mut reading = World::new();
    reading.working().key(Key::Ctrl('t')).hear(question());
    assert!(!is_open(&reading), "the transcript has the screen");
    assert!(is_open(reading.key(Key::Char('q'))));
}

#[test]
fn what_is_pasted_answers_nothing_there_either() {
    let mut world = held(20);
    assert!(is_open(&world));
    world.key(Key::End);
    assert_eq!(world.paste("y").effects, []);
    assert!(is_open(&world));
    world.effects.clear();
    world.burst(&[Key::Char('x'), Key::Char('x'), Key::Char('y')]);
    assert_eq!(world.effects, []);
    assert!(is_open(&world));
}

#[test]
fn every_answer_has_its_key_there() {
    let mut denied = held(100);
    assert!(!is_open(denied.key(Key::Char('n'))), "a reason is written above the prompt");
    let no = answer(vec![("1", ApprovalChoice::No { reason: Some("why".into()) })]);
    assert_eq!(denied.typed("why").key(Key::Enter).effects, [no]);
    let mut stopped = held(100);
    assert_eq!(stopped.key(Key::Ctrl('c')).effects, [Effect::Stop]);
    assert!(stopped.app.full.is_none() && stopped.app.panel.is_none());
    let mut withdrawn = held(100);
    withdrawn.hear(Msg::Withdrawn);
    assert!(withdrawn.app.full.is_none());
    let mut some = asked(8);
    assert!(is_open(&some));
    assert!(is_open(some.key(Key::Char('2'))), "marks change in place");
    let first =
        |world: &World| crate::view::view(&world.app).rows.iter().map(Line::plain).collect();
    let rows: Vec<String> = first(&some);
    assert!(rows.iter().any(|row| row.starts_with("2 [ ]")), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("Run 7 of 8?")), "{rows:?}");
    for _ in 0..4 {
        some.key(Key::PageDown);
    }
    some.key(Key::Char('y')).typed("not that");
    let Effect::Answer(given) = &some.key(Key::Enter).effects[0] else { panic!("no answer") };
    let no = ApprovalChoice::No { reason: Some("not that".into()) };
    let denied: Vec<&str> =
        given.calls.iter().filter(|call| call.choice == no).map(|call| call.id.as_str()).collect();
    assert_eq!((given.calls.len(), denied), (8, vec!["2"]));
    assert!(is_open(asked(8).key(Key::Char('?'))), "the help stands beneath it");
    let mut searched = asked(8);
    searched.key(Key::Char('/')).typed("yn").key(Key::Enter);
    assert!(is_open(&searched), "letters that are searched for answer nothing");
}

#[test]
fn a_call_beyond_the_ninth_is_deselected_by_its_number() {
    let mut many = asked(14);
    assert!(is_open(&many));
    assert!(!is_open(many.typed("1")), "numbers are typed above the prompt");
    assert_eq!(many.typed("2,14").key(Key::Enter).effects, []);
    assert_eq!(many.key(Key::Char('y')).effects, []);
    assert!(is_open(&many), "not all of them were in sight");
    for _ in 0..6 {
        many.key(Key::Char(' '));
    }
    many.key(Key::Char('y'));
    let Effect::Answer(given) = &many.key(Key::Enter).effects[0] else { panic!("no answer") };
    let run = given.calls.iter().filter(|call| call.choice == ApprovalChoice::Once);
    assert_eq!(run.map(|call| call.id.as_str()).collect::<Vec<_>>().len(), 12);
    let mut back = asked(14);
    back.typed("1").key(Key::Escape);
    assert!(back.app.panel.is_some());
    assert_eq!(back.typed("1").paste("x").key(Key::Enter).effects, [], "no numbers");
}

/// A question whose answers are letters is opened by a key that is none.
#[test]
fn a_recovery_is_read_before_it_is_decided() {
    let choices = vec![PanelChoice::new('k', "keep"), PanelChoice::new('d', "discard")];
    let facts = (0..50).map(|number| Line::text(format!("s-{number} completed"))).collect();
    let title = "Interrupted".into();
    let mut world = World::new();
    world.hear(Msg::Question(PanelQuestion { id: 7, title, facts, choices }));
    assert!(is_open(&world));
    assert_eq!(world.key(Key::Char('k')).effects, [], "not yet");
    assert!(!is_open(world.key(Key::Escape)));
    assert!(is_open(world.key(Key::Char(' '))));
    for _ in 0..3 {
        world.key(Key::PageDown);
    }
    assert_eq!(world.key(Key::Char('d')).effects, [Effect::Choose { question: 7, choice: 1 }]);
    assert!(world.app.full.is_none());
}
