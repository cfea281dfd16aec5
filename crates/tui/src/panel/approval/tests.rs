//! Answers to a question about a batch, key by key.

use jm_types::{AlwaysOffer, ChangeWord, HeldChange, RiskLevel};

use super::*;

fn answers_of(asked: &Approval) -> String {
    asked.answers().iter().map(|part| part.plain() + "   ").collect()
}

fn approval(count: usize) -> Approval {
    let call = |number: usize| CallQuestion {
        arguments: "{}".into(),
        can_edit: true,
        always: match number {
            1 => vec![AlwaysOffer {
                rules: vec!["write_file: **".into()],
                scope: OfferedScope::Project,
            }],
            _ => Vec::new(),
        },
        ..CallQuestion::new(
            &format!("c{number}"),
            "write_file",
            &format!("Write {number}.txt"),
            RiskLevel::Medium,
        )
    };
    Approval::new(ApprovalQuestion { calls: (1..=count).map(call).collect(), diff: None })
}

fn answer(calls: &[(&str, ApprovalChoice)]) -> ApprovalAnswer {
    let calls = calls.iter().map(|(id, choice)| AnsweredCall::new(id, choice.clone()));
    ApprovalAnswer { calls: calls.collect() }
}

fn no(reason: Option<&str>) -> ApprovalChoice {
    ApprovalChoice::No { reason: reason.map(str::to_owned) }
}

/// FR-TUI-01
#[test]
fn all_none_or_some_with_a_reason() {
    let all = answer(&[("c1", ApprovalChoice::Once), ("c2", ApprovalChoice::Once)]);
    assert_eq!(approval(2).key('y'), Done::Answered(all));
    let mut some = approval(2);
    assert_eq!(some.key('2'), Done::Nothing);
    assert_eq!(answers_of(&some).split('?').next(), Some("Run 1 of 2"));
    assert_eq!(some.key('y'), Done::Nothing);
    let PanelMode::Reason { buffer, .. } = &mut some.mode else { panic!("no reason asked") };
    buffer.set("not that one");
    let given = some.reason_given().unwrap();
    assert_eq!(given, answer(&[("c1", ApprovalChoice::Once), ("c2", no(Some("not that one")))]));
    let mut none = approval(1);
    assert_eq!(none.key('n'), Done::Nothing);
    assert_eq!(none.reason_given(), Some(answer(&[("c1", no(None))])));
    assert_eq!(approval(1).key('1'), Done::Foreign);
    assert_eq!(approval(1).key('x'), Done::Foreign);
    assert_eq!(approval(1).key('s'), Done::Foreign, "nothing is masked");
    assert_eq!(approval(1).key('d'), Done::ShowDiff);
}

#[test]
fn some_files_of_an_ended_command_are_kept() {
    let change =
        |path: &str| HeldChange { path: path.to_owned(), change: ChangeWord::Created, inside: 0 };
    let mut asked = approval(1);
    assert_eq!(asked.key('k'), Done::Foreign, "nothing has ended");
    asked.question.calls[0].changes = ["a", "b", "c/d"].map(change).into();
    assert!(answers_of(&asked).contains("k keep some"));
    assert!(asked.approves('k'));
    assert_eq!(asked.key('k'), Done::Nothing);
    asked.typed_mut().unwrap().set("9");
    assert_eq!(asked.files_given(), None);
    assert!(answers_of(&asked).starts_with("Not used: 9: not among the changes."));
    assert_eq!(asked.key('k'), Done::Nothing);
    asked.typed_mut().unwrap().set("1 c/d");
    let paths = vec!["a".to_owned(), "c/d".to_owned()];
    let kept = answer(&[("c1", ApprovalChoice::KeepSome { paths })]);
    assert_eq!(asked.files_given(), Some(kept));
    assert_eq!(asked.key('k'), Done::Nothing);
    assert_eq!(asked.files_given(), None, "nothing was written");
    assert!(matches!(asked.mode, PanelMode::Asking));
}

/// The end of a long line is part of what is approved.
#[test]
fn no_line_is_cut() {
    let mut asked = approval(1);
    let preview = format!("@@ -1 +1 @@\n-a\n+{}; rm -rf ~\n", "x".repeat(5_000));
    asked.question.calls[0].preview = Some(preview);
    assert!(asked.lines().iter().any(|line| line.plain().ends_with("; rm -rf ~")));
}

#[test]
fn always_shows_the_rule_and_asks_for_its_scope() {
    let always = |seconds| ApprovalChoice::Always { scope: OfferedScope::Project, seconds };
    for (key, choice) in
        [('p', always(None)), ('d', always(Some(ONE_DAY))), ('o', ApprovalChoice::Once)]
    {
        let mut asked = approval(1);
        assert_eq!(asked.key('a'), Done::Nothing);
        assert_eq!(asked.lines()[1].plain(), "  write_file: **");
        assert_eq!(asked.key('e'), Done::Foreign, "not offered everywhere");
        assert_eq!(asked.key(key), Done::Answered(answer(&[("c1", choice)])));
    }
    let mut back = approval(1);
    back.key('a');
    assert!(back.goes_back());
    assert!(!back.goes_back());
    let mut some = approval(2);
    assert_eq!(some.key('2'), Done::Nothing);
    assert_eq!(some.key('a'), Done::Foreign, "not beside calls that are left out");
}

#[test]
fn edited_arguments_are_an_answer_and_bad_ones_are_kept() {
    let mut asked = approval(1);
    assert_eq!(asked.key('e'), Done::Edit("{}\n".into()));
    assert_eq!(asked.edited("{".into()), None);
    assert!(answers_of(&asked).contains("Not used: not JSON"));
    assert_eq!(asked.key('e'), Done::Edit("{".into()), "goes on where it was left");
    let edit = ApprovalChoice::Edit { arguments: r#"{"path":"b"}"#.into() };
    assert_eq!(asked.edited("{\"path\": \"b\"}".into()), Some(answer(&[("c1", edit.clone())])));
    let mut several = approval(2);
    assert_eq!(several.key('e'), Done::Nothing);
    assert_eq!(several.key('3'), Done::Foreign);
    assert_eq!(several.key('2'), Done::Edit("{}\n".into()));
    assert_eq!(several.edited(r#"{"path":"b"}"#.into()), Some(answer(&[("c2", edit)])));
    let mut unchanged = approval(1);
    unchanged.key('e');
    assert_eq!(unchanged.edited("{ }".into()), None);
    assert!(matches!(unchanged.mode, PanelMode::Asking));
    unchanged.key('e');
    unchanged.not_edited();
    assert!(answers_of(&unchanged).contains("the editor failed"));
}

#[test]
fn a_tool_that_is_off_is_switched_on_by_one_key() {
    let mut asked = approval(1);
    asked.question.calls[0].opts_in = true;
    let answers = answers_of(&asked);
    assert!(
        answers
            .contains("y this once   p turn commands on for this project   n no, leave them off"),
        "{answers}"
    );
    assert_eq!(asked.key('a'), Done::Foreign, "each call of it still asks");
    let on = ApprovalChoice::Always { scope: OfferedScope::Project, seconds: None };
    assert_eq!(asked.key('p'), Done::Answered(answer(&[("c1", on)])));
    assert_eq!(approval(1).key('p'), Done::Foreign);
}

#[test]
fn every_call_of_a_large_batch_has_a_number() {
    let types = |asked: &mut Approval, text: &str| {
        asked.typed_mut().unwrap().set(text);
        asked.numbers_given()
    };
    let mut asked = approval(14);
    assert!(answers_of(&asked).contains("1–14 select"), "{}", answers_of(&asked));
    assert_eq!(asked.key('1'), Done::Nothing);
    assert_eq!(
        asked.typed().map(|(word, typed)| (word, typed.text())),
        Some(("calls: ", "1".into()))
    );
    assert_eq!(types(&mut asked, "2,11-13"), Done::Nothing);
    let left: Vec<usize> = (0..14).filter(|place| !asked.selected[*place]).collect();
    assert_eq!(left, [1, 10, 11, 12]);
    asked.key('1');
    for wrong in ["15", "0", "x", "", "3-"] {
        assert_eq!(types(&mut asked, wrong), Done::Nothing);
        assert!(answers_of(&asked).contains("Please type numbers from 1 to 14."), "{wrong}");
    }
    assert_eq!(types(&mut asked, "12 13"), Done::Nothing);
    assert!(answers_of(&asked).starts_with("Run 12 of 14?"));
    assert_eq!(asked.key('e'), Done::Nothing);
    assert_eq!(types(&mut asked, "1,2"), Done::Nothing, "one at a time");
    assert_eq!(types(&mut asked, "14"), Done::Edit("{}\n".into()));
    let edit = ApprovalChoice::Edit { arguments: r#"{"path":"b"}"#.into() };
    assert_eq!(asked.edited(r#"{"path":"b"}"#.into()), Some(answer(&[("c14", edit)])));
    assert_eq!(approval(9).key('9'), Done::Nothing);
}
