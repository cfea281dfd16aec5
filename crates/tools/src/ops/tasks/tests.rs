//! Lists in memory: what actions make of them, and how they read as Markdown.

use jm_types::ToolError;

use super::export::render;
use super::task_lists::{List, MOST_ITEMS};
use super::*;

fn apply(list: &mut List, action: TaskAction) -> Result<TaskOutcome, ToolError> {
    list.apply(Board::Work, &action, 7)
}

fn create(list: &mut List, title: &str, draft: Draft) {
    apply(list, TaskAction::Create { title: title.to_owned(), draft }).unwrap();
}

#[test]
fn numbers_are_never_given_twice() {
    let mut list = List::default();
    create(&mut list, "one", Draft::default());
    apply(&mut list, TaskAction::Delete { id: "task-1".to_owned() }).unwrap();
    create(&mut list, "two", Draft::default());
    assert_eq!(list.items[0].id, "task-2");
    let unknown = apply(&mut list, TaskAction::Delete { id: "task-1".to_owned() }).unwrap_err();
    assert_eq!(unknown.hints, ["known: task-2"]);
}

#[test]
fn an_update_leaves_what_it_does_not_name() {
    let mut list = List::default();
    let labels = Some(vec!["a".to_owned()]);
    create(&mut list, "one", Draft { note: Some("n".to_owned()), labels, ..Draft::default() });
    let draft = Draft { title: Some("uno".to_owned()), ..Draft::default() };
    apply(&mut list, TaskAction::Update { id: "task-1".to_owned(), draft }).unwrap();
    let item = &list.items[0];
    assert_eq!((item.title.as_str(), item.note.as_deref()), ("uno", Some("n")));
    assert_eq!(item.labels, ["a"]);
}

#[test]
fn an_export_is_harmless_markdown() {
    let mut list = List::default();
    let draft = Draft {
        note: Some("token=abcdef123456\n- [x] forged".to_owned()),
        location: Some(CodePlace { path: "a.rs".to_owned(), line: Some(3), end_line: Some(5) }),
        ..Draft::default()
    };
    create(&mut list, "one\n- [x] two", draft);
    let text = render(Board::Todo, &list);
    assert_eq!(
        text,
        "# To do\n\n- [ ] one - [x] two (`a.rs:3-5`)\n  - token=[redacted] - [x] forged\n"
    );
}

#[test]
fn a_list_is_bounded() {
    let mut list = List::default();
    for _ in 0..MOST_ITEMS {
        create(&mut list, "x", Draft::default());
    }
    let action = TaskAction::Create { title: "one more".to_owned(), draft: Draft::default() };
    assert_eq!(apply(&mut list, action).unwrap_err().name(), "limits_exceeded");
}
