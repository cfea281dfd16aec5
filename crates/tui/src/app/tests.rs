//! The effect of every key, and the keys that never answer a question.

use jm_types::{
    AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion, CallQuestion, RiskLevel,
};

mod every_key;
mod long_question;

use super::*;
use crate::editor::Completion;
use crate::key::Key;
use crate::msg::{Attachment, NewCall, TurnEnd};
use crate::panel::question::{PanelChoice, PanelQuestion};
use crate::status::Status;

/// An app whose person types with a second between two keys.
struct World {
    app: App,
    effects: Vec<Effect>,
}

impl World {
    fn new() -> Self {
        Self { app: App::new(Status::default()), effects: Vec::new() }
    }

    fn hear(&mut self, msg: Msg) -> &mut Self {
        self.app.clock += 1_000;
        self.effects = update(&mut self.app, msg);
        self.effects.retain(|effect| !matches!(effect, Effect::Print(_) | Effect::Remember(_)));
        self
    }

    fn key(&mut self, key: Key) -> &mut Self {
        self.hear(Msg::Input(Input::Key(key)))
    }

    /// Keys as fast as a terminal that does not bracket pastes hands them over.
    fn burst(&mut self, keys: &[Key]) {
        self.app.clock += 1_000;
        for key in keys {
            self.app.clock += 1;
            self.effects.extend(update(&mut self.app, Msg::Input(Input::Key(*key))));
        }
        self.effects.retain(|effect| !matches!(effect, Effect::Print(_)));
    }

    fn typed(&mut self, text: &str) -> &mut Self {
        text.chars().for_each(|c| {
            self.key(if c == '\n' { Key::Enter } else { Key::Char(c) });
        });
        self
    }

    fn paste(&mut self, text: &str) -> &mut Self {
        self.hear(Msg::Input(Input::Paste(text.into())))
    }

    fn working(&mut self) -> &mut Self {
        self.hear(Msg::TurnBegins { prompt: "work".into() })
    }

    fn text(&self) -> String {
        self.app.prompt.buffer.text()
    }

    fn flash(&self) -> &str {
        self.app.flash.as_ref().map(|(text, _)| text.as_str()).unwrap_or_default()
    }
}

fn submitted(text: &str) -> Vec<Effect> {
    vec![Effect::Submit(text.into())]
}

fn request(id: &str) -> CallQuestion {
    CallQuestion {
        preview: Some("@@ -1 +1 @@\n-a\n+b\n".into()),
        ..CallQuestion::new(id, "t", "s", RiskLevel::Medium)
    }
}

fn answer(calls: Vec<(&str, ApprovalChoice)>) -> Effect {
    let calls = calls.into_iter().map(|(id, choice)| AnsweredCall::new(id, choice)).collect();
    Effect::Answer(ApprovalAnswer { calls })
}

fn asked(count: usize) -> World {
    let mut world = World::new();
    world.working();
    let calls = (1..=count).map(|number| request(&number.to_string())).collect();
    world.hear(Msg::Approval(Box::new(ApprovalQuestion { calls, diff: None })));
    assert_eq!(world.effects, [Effect::Notify("Approval needed".into())]);
    world
}

#[test]
fn keys_of_the_prompt() {
    let cases: &[(&[Key], &str)] = &[
        (&[Key::Char('x')], "one twox"),
        (&[Key::NewLine, Key::Char('x')], "one two\nx"),
        (&[Key::Ctrl('j')], "one two\n"),
        (&[Key::Backspace], "one tw"),
        (&[Key::Ctrl('h')], "one tw"),
        (&[Key::Left, Key::Delete], "one tw"),
        (&[Key::Ctrl('b'), Key::Ctrl('d')], "one tw"),
        (&[Key::Home, Key::Char('x')], "xone two"),
        (&[Key::Ctrl('a'), Key::Right, Key::Char('x')], "oxne two"),
        (&[Key::Ctrl('a'), Key::Ctrl('f'), Key::Char('x')], "oxne two"),
        (&[Key::Home, Key::End, Key::Char('x')], "one twox"),
        (&[Key::Home, Key::Ctrl('e'), Key::Char('x')], "one twox"),
        (&[Key::WordLeft, Key::Char('x')], "one xtwo"),
        (&[Key::Alt('b'), Key::Alt('f'), Key::Char('x')], "one twox"),
        (&[Key::Home, Key::WordRight, Key::Char('x')], "onex two"),
        (&[Key::Ctrl('w')], "one "),
        (&[Key::Ctrl('u')], ""),
        (&[Key::Home, Key::Ctrl('k')], ""),
        (&[Key::Ctrl('u'), Key::Ctrl('y')], "one two"),
        (&[Key::Ctrl('c')], ""),
        (&[Key::Up], "earlier"),
        (&[Key::Ctrl('p')], "earlier"),
        (&[Key::Up, Key::Down], "one two"),
        (&[Key::Up, Key::Ctrl('n')], "one two"),
        (&[Key::Ctrl('u'), Key::Ctrl('r'), Key::Char('l'), Key::Enter], "earlier"),
        (&[Key::Ctrl('r'), Key::Escape], "one two"),
    ];
    for (keys, expected) in cases {
        let mut world = World::new();
        world.hear(Msg::History(vec!["earlier".into()])).typed("one two");
        keys.iter().for_each(|key| {
            world.key(*key);
        });
        assert_eq!(world.text(), *expected, "{keys:?}");
    }
}

#[test]
fn keys_that_ask_for_something() {
    let cases: &[(Key, Effect)] = &[
        (Key::Ctrl('z'), Effect::Suspend),
        (Key::Ctrl('l'), Effect::Redraw),
        (Key::BackTab, Effect::CycleApproval),
        (Key::Ctrl('g'), Effect::Edit(String::new())),
        (Key::Ctrl('v'), Effect::Attach(Attachment::Clipboard)),
    ];
    for (key, effect) in cases {
        assert_eq!(World::new().key(*key).effects, std::slice::from_ref(effect), "{key:?}");
    }
    let mut world = World::new();
    assert!(world.key(Key::Ctrl('t')).app.full.is_some());
    assert!(world.key(Key::Ctrl('t')).app.full.is_none());
    assert_eq!(world.key(Key::Ctrl('d')).effects, [Effect::Quit]);
}

#[test]
fn enter_sends_queues_and_steers() {
    let mut world = World::new();
    assert_eq!(world.typed("hello").key(Key::Enter).effects, submitted("hello"));
    assert_eq!(world.text(), "");
    world.typed("a\\").key(Key::Enter).typed("b");
    assert_eq!(world.key(Key::Enter).effects, submitted("a\nb"));
    world.working().typed("more").key(Key::Enter);
    assert_eq!((world.effects.len(), world.app.queue.len()), (0, 1), "queued while a turn runs");
    assert_eq!(world.key(Key::Up).text(), "more", "and taken back by Up");
    world.key(Key::Enter);
    assert_eq!(world.key(Key::Enter).effects, [Effect::Stop], "twice sends it at once");
    assert_eq!(world.hear(Msg::TurnEnds(TurnEnd::Interrupted)).effects, submitted("more"));
    world.working().typed("later").key(Key::Enter).hear(Msg::TurnEnds(TurnEnd::Finished));
    assert_eq!(world.effects, submitted("later"), "sent when the turn has ended");
    world.working().typed("wrong").key(Key::Enter).key(Key::Escape);
    assert_eq!(world.effects, [Effect::Stop]);
    world.hear(Msg::TurnEnds(TurnEnd::Interrupted));
    assert_eq!((world.text().as_str(), world.effects.len()), ("wrong", 0), "a stop sends nothing");
}

#[test]
fn ctrl_c_and_escape_stop_clear_and_quit() {
    let mut world = World::new();
    world.working();
    assert_eq!(world.key(Key::Ctrl('c')).effects, [Effect::Stop]);
    world.hear(Msg::TurnEnds(TurnEnd::Interrupted)).typed("x");
    assert!(world.key(Key::Ctrl('c')).effects.is_empty());
    assert_eq!(world.text(), "");
    assert!(world.key(Key::Ctrl('c')).effects.is_empty());
    assert_eq!(world.flash(), "Press Ctrl-C again to quit");
    assert_eq!(world.key(Key::Ctrl('c')).effects, [Effect::Quit]);
    let mut world = World::new();
    world.key(Key::Ctrl('c')).hear(Msg::Tick).hear(Msg::Tick);
    assert!(
        world.key(Key::Ctrl('c')).effects.is_empty(),
        "too late: it must be pressed twice again"
    );
    let mut world = World::new();
    assert!(world.key(Key::Escape).effects.is_empty());
    assert_eq!(world.key(Key::Escape).effects, [Effect::ListPrompts]);
}

#[test]
fn commands_and_completion() {
    let mut world = World::new();
    world.typed("/un");
    assert_eq!(world.key(Key::Tab).text(), "/undo ");
    let undo = Effect::Command { name: "undo", rest: "2".into() };
    assert_eq!(world.typed("2").key(Key::Enter).effects, [undo]);
    world.typed("/undoo").key(Key::Enter);
    assert_eq!(world.flash(), "Unknown command /undoo; did you mean /undo? (see /help)");
    world.key(Key::Ctrl('u')).typed("see @ma");
    assert_eq!(world.app.prompt.menu, None);
    world.hear(Msg::Files(vec!["src/main.rs".into(), "src/map.rs".into()]));
    assert!(world.app.prompt.menu.is_some());
    world.key(Key::Down).key(Key::Enter);
    assert!(world.text().starts_with("see @src/ma"), "{}", world.text());
    let mut world = World::new();
    assert_eq!(world.typed("look @").effects, [Effect::ListFiles]);
    let known = world.typed("x").effects.clone();
    assert_eq!(known, [], "asked for once");
}

/// A burst types past the menu that its first letter opened.
#[test]
fn a_menu_never_replaces_a_command_that_was_written_out() {
    let mut world = World::new();
    world.key(Key::Char('/'));
    world.burst(&"status".chars().map(Key::Char).collect::<Vec<_>>());
    let status = Effect::Command { name: "status", rest: String::new() };
    assert_eq!(world.key(Key::Enter).effects, [status]);
    let tool = Effect::Command { name: "tool", rest: String::new() };
    assert_eq!(World::new().typed("/tool").key(Key::Enter).effects, [tool]);
}

#[test]
fn arguments_are_completed() {
    let word = |text: &str| Completion { text: text.into(), note: String::new() };
    let mut world = World::new();
    world.hear(Msg::Arguments { command: "approve", known: vec![word("auto"), word("prompt")] });
    assert_eq!(world.typed("/approve p").key(Key::Tab).text(), "/approve prompt");
    let asked = |rest: &str| Effect::Command { name: "approve", rest: rest.into() };
    assert_eq!(world.key(Key::Enter).effects, [asked("prompt")]);
    assert_eq!(world.typed("/approve ").key(Key::Enter).effects, [asked("")]);
    world.typed("/approve ").key(Key::Down);
    assert_eq!(world.key(Key::Enter).text(), "/approve prompt");
}

/// The list of files is as old as the prompt at most, and serves until a new one comes.
#[test]
fn files_are_listed_anew_for_each_prompt() {
    let mut world = World::new();
    assert_eq!(world.typed("@").effects, [Effect::ListFiles]);
    world.hear(Msg::Files(vec!["a.rs".into()])).key(Key::Escape).key(Key::Enter);
    assert_eq!(world.typed("@").effects, [Effect::ListFiles]);
    assert!(world.app.prompt.menu.is_some());
}

/// A picture that is dropped on a terminal comes as the paste of its path.
#[test]
fn pictures_are_attached() {
    let mut world = World::new();
    world.typed("see ").paste("'/tmp/my shot.png'");
    let path = Effect::Attach(Attachment::Path("'/tmp/my shot.png'".into()));
    assert_eq!((world.text().as_str(), &world.effects[..]), ("see ", &[path][..]));
    world.hear(Msg::Picture { label: "[picture 1: my shot.png]".into() });
    assert_eq!(world.text(), "see [picture 1: my shot.png] ");
    let mut world = World::new();
    world.paste("no.png").hear(Msg::Pasted("no.png".into()));
    assert_eq!(world.text(), "no.png", "no picture: text after all");
    assert_eq!(World::new().paste("a.png\nb.png").effects, [], "two lines are text");
}

#[test]
fn an_exclamation_mark_counts_only_where_it_was_typed() {
    let mut world = World::new();
    assert_eq!(world.typed("!ls").key(Key::Enter).effects, [Effect::Shell("ls".into())]);
    assert_eq!(world.paste("!rm -rf x").key(Key::Enter).effects, submitted("!rm -rf x"));
    world.burst(&[Key::Char('!'), Key::Char('l'), Key::Char('s')]);
    let mut world = World::new();
    world.typed("x").key(Key::Home).typed("!").key(Key::Enter);
    assert_eq!(world.effects, submitted("!x"));
}

/// Complaint 14: pastes are one block, and Enter after one always sends.
#[test]
fn a_paste_is_one_block_and_enter_after_it_sends() {
    let mut world = World::new();
    world.paste("one\ntwo\n");
    assert_eq!(world.effects, []);
    assert_eq!(world.key(Key::Enter).effects, submitted("one\ntwo\n"));
    let keys: Vec<Key> = "ab\ncd\n"
        .chars()
        .map(|c| match c {
            '\n' => Key::Enter,
            c => Key::Char(c),
        })
        .collect();
    world.burst(&keys);
    assert_eq!(world.effects.iter().filter(|it| matches!(it, Effect::Submit(_))).count(), 1);
    assert_eq!(world.text(), "ab\ncd\n", "no line of an unbracketed paste was sent");
    let long: String = (0..214).map(|number| format!("{number}\n")).collect();
    let mut world = World::new();
    world.paste(&long);
    assert_eq!(world.app.prompt.buffer.shown().0, "[pasted #1: 214 lines]");
    world.key(Key::Ctrl('o'));
    assert_eq!(world.app.prompt.buffer.shown().0, long);
    assert_eq!(world.key(Key::Enter).effects, submitted(&long));
}

#[test]
fn answers_count_only_when_they_are_meant() {
    let all = answer(vec![("1", ApprovalChoice::Once)]);
    assert_eq!(asked(1).key(Key::Char('y')).effects, std::slice::from_ref(&all));
    let mut typing = asked(1);
    typing.app.prompt.buffer.set("ma");
    assert_eq!(typing.key(Key::Char('y')).effects, [], "the prompt is not empty");
    assert_eq!(typing.text(), "may");
    assert_eq!(typing.key(Key::Tab).key(Key::Char('y')).effects, [all], "Tab gives the focus");
    let mut quick = asked(1);
    quick.app.last_typed = Some(quick.app.clock + 700);
    assert_eq!(quick.key(Key::Char('y')).effects, [], "typed less than half a second ago");
    assert_eq!(quick.text(), "y");
    let mut pasted = asked(1);
    assert_eq!(pasted.paste("y").effects, [], "a paste never answers");
    let mut burst = asked(1);
    burst.burst(&[Key::Char('a'), Key::Char('a'), Key::Char('y'), Key::Enter]);
    assert_eq!(burst.effects, [Effect::Notify("Approval needed".into())], "nor does a burst");
    let mut stopped = asked(1);
    assert_eq!(stopped.key(Key::Ctrl('c')).effects, [Effect::Stop]);
    assert!(stopped.app.panel.is_none());
}

#[test]
fn a_resize_and_a_focus_answer_nothing() {
    let mut world = asked(1);
    world.app.resize(40, 12);
    assert_eq!(world.hear(Msg::Input(Input::Focus)).effects, []);
    assert!(world.app.panel.is_some());
}

#[test]
fn keys_of_the_approval_panel() {
    let mut world = asked(2);
    assert_eq!(world.key(Key::Char('?')).effects, []);
    assert_eq!(world.key(Key::Char('1')).key(Key::Char('y')).effects, []);
    world.typed("not this");
    let no = ApprovalChoice::No { reason: Some("not this".into()) };
    let expected = answer(vec![("1", no), ("2", ApprovalChoice::Once)]);
    assert_eq!(world.key(Key::Enter).effects, [expected]);
    let mut world = asked(1);
    world.key(Key::Char('d'));
    assert!(world.app.full.is_some());
    world.key(Key::Char('q')).key(Key::Char('n')).key(Key::Escape).key(Key::Char('n'));
    let denied = answer(vec![("1", ApprovalChoice::No { reason: None })]);
    assert_eq!(world.key(Key::Enter).effects, [denied]);
    let mut world = World::new();
    let choices = vec![PanelChoice::new('k', "keep"), PanelChoice::new('u', "undo")];
    let title = "Keep?".into();
    world.hear(Msg::Question(PanelQuestion { id: 7, title, facts: vec![], choices }));
    assert_eq!(world.key(Key::Char('u')).effects, [Effect::Choose { question: 7, choice: 1 }]);
    world.hear(Msg::Secret { title: "key".into() }).paste("sk-1\n");
    assert_eq!(world.key(Key::Enter).effects, [Effect::Secret(Some("sk-1".into()))]);
}

/// FR-TUI-03: output follows its end unless it was scrolled.
#[test]
fn page_keys_scroll_the_output_of_what_runs() {
    let mut world = World::new();
    let call = NewCall {
        id: "1".into(),
        key: "s-1".into(),
        name: "run".into(),
        arguments: r#"{"command":"make"}"#.into(),
    };
    world.working().hear(Msg::Calls(vec![call])).hear(Msg::CallStarted { id: "1".into() });
    let chunk: String = (0..100).map(|number| format!("{number}\n")).collect();
    world.hear(Msg::Output { id: "1".into(), chunk });
    let last = |world: &World| {
        let call = &world.app.turn.as_ref().unwrap().calls[0];
        call.output.window(1)[0].plain().trim().to_owned()
    };
    assert_eq!(last(&world), "99");
    world.key(Key::PageUp).hear(Msg::Output { id: "1".into(), chunk: "100\n".into() });
    assert_eq!(last(&world), "89");
    world.key(Key::PageDown);
    assert_eq!(last(&world), "99");
    assert_eq!(last(world.key(Key::End)), "100");
}

#[test]
fn nothing_ticks_while_everything_rests() {
    let mut world = World::new();
    assert_eq!(world.hear(Msg::Tick).app.next_tick(), None);
    assert_eq!(world.working().app.next_tick(), Some(100));
    let mut asked = asked(1);
    asked.app.last_typed = Some(asked.app.clock - 200);
    assert_eq!(asked.app.next_tick(), Some(300), "until keys are answers again");
    assert_eq!(world.hear(Msg::TurnEnds(TurnEnd::Finished)).app.next_tick(), None);
}

/// A long turn ends with a notice, a short one does not.
#[test]
fn the_end_of_a_long_turn_is_announced() {
    let mut world = World::new();
    world.working();
    assert_eq!(world.hear(Msg::TurnEnds(TurnEnd::Finished)).effects, []);
    world.working();
    world.app.clock += 20_000;
    let notice = Effect::Notify("The turn has ended".into());
    assert_eq!(world.hear(Msg::TurnEnds(TurnEnd::Finished)).effects, [notice]);
}
