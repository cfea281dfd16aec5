//! The answers that a client is offered for a call, and their meaning.
//!
//! Law: a client's answer counts once and makes no rule, unless the person who started the agent let it, and never
//! farther than they said. A refusal that lasts can only tighten, so every client is offered it.

use jm_acp::schema::{PermissionOption, PermissionOptionKind};
use jm_types::text::one_line;
use jm_types::{
    AlwaysOffer, AnsweredCall, ApprovalAnswer, ApprovalChoice, CallQuestion, OfferedScope,
};

pub(super) const ALLOW: &str = "allow";
pub(super) const REJECT: &str = "reject";
const DECLINE: &str = "reject_always";

/// The longest name of an option. A rule that does not fit could not be read whole, so it is not offered.
const MOST_NAME: usize = 200;

/// A client's answer to a question.
pub(crate) struct ClientAnswer {
    pub(crate) answer: ApprovalAnswer,
    /// The calls whose tools shall stay off in this project.
    pub(crate) declined: Vec<String>,
}

/// A client's choice about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientChoice {
    Answered(ApprovalChoice),
    /// A rejection after which the call's tool stays off in this project.
    Declined {
        reason: Option<String>,
    },
}

impl ClientAnswer {
    /// Each choice counts for the very call that was shown.
    pub(super) fn of(given: Vec<(&CallQuestion, ClientChoice)>) -> Self {
        let (mut calls, mut declined) = (Vec::new(), Vec::new());
        for (call, choice) in given {
            let choice = match choice {
                ClientChoice::Answered(choice) => choice,
                ClientChoice::Declined { reason } => {
                    declined.push(call.id.clone());
                    ApprovalChoice::No { reason }
                }
            };
            let fingerprint = Some(call.fingerprint.clone());
            calls.push(AnsweredCall { id: call.id.clone(), fingerprint, choice });
        }
        Self { answer: ApprovalAnswer { calls }, declined }
    }
}

impl ClientChoice {
    /// The meaning of an option that was offered; whatever does not allow the call rejects it.
    pub(super) fn of(option: &str, reason: Option<String>) -> Self {
        let always = OfferedScope::ALL.into_iter().find(|scope| always_id(*scope) == option);
        match (option, always) {
            (ALLOW, _) => Self::Answered(ApprovalChoice::Once),
            (_, Some(scope)) => Self::Answered(ApprovalChoice::Always { scope, seconds: None }),
            (DECLINE, None) => Self::Declined { reason },
            (_, None) => Self::Answered(ApprovalChoice::No { reason }),
        }
    }
}

/// The answers for a call: once and no, "always" as far as it may be remembered, and a no that lasts where the
/// call's tool is off.
pub(super) fn permission_options(
    call: &CallQuestion,
    widest: Option<OfferedScope>,
) -> Vec<PermissionOption> {
    let mut options =
        vec![PermissionOption::new(ALLOW, "Allow once", PermissionOptionKind::AllowOnce)];
    let may_be = |offer: &&AlwaysOffer| widest.is_some_and(|widest| offer.scope <= widest);
    for offer in call.always.iter().filter(may_be) {
        let (id, name) = (always_id(offer.scope), always_name(call, offer));
        if name.chars().count() <= MOST_NAME {
            options.push(PermissionOption::new(id, name, PermissionOptionKind::AllowAlways));
        }
    }
    options.push(PermissionOption::new(REJECT, "Reject", PermissionOptionKind::RejectOnce));
    if call.opts_in {
        let name = format!("Reject, and keep {} off in this project", one_line(&call.tool));
        options.push(PermissionOption::new(DECLINE, name, PermissionOptionKind::RejectAlways));
    }
    options
}

fn always_id(scope: OfferedScope) -> &'static str {
    match scope {
        OfferedScope::Session => "always_session",
        OfferedScope::Project => "always_project",
        OfferedScope::Everywhere => "always_everywhere",
    }
}

/// The name shows the rules that would be stored.
fn always_name(call: &CallQuestion, offer: &AlwaysOffer) -> String {
    let (rules, scope) = (one_line(&offer.rules.join(", ")), offer.scope.words());
    match call.opts_in {
        true => format!("Allow, and turn {rules} on for {scope}"),
        false => format!("Always allow ({scope}): {rules}"),
    }
}

#[cfg(test)]
mod tests {
    use jm_types::RiskLevel;

    use super::*;

    fn call(rule: &str, opts_in: bool) -> CallQuestion {
        let offer = |scope| AlwaysOffer { rules: vec![rule.to_owned()], scope };
        let always = OfferedScope::ALL.map(offer).to_vec();
        CallQuestion {
            always,
            opts_in,
            ..CallQuestion::new("c1", "run_command", "ls", RiskLevel::Low)
        }
    }

    fn ids(call: &CallQuestion, widest: Option<OfferedScope>) -> Vec<String> {
        let options = permission_options(call, widest);
        options.iter().map(|option| option.option_id.to_string()).collect()
    }

    #[test]
    fn an_answer_reaches_as_far_as_the_person_let_it() {
        let ls = call("run_command: ls *", false);
        assert_eq!(ids(&ls, None), ["allow", "reject"]);
        let session = Some(OfferedScope::Session);
        assert_eq!(ids(&ls, session), ["allow", "always_session", "reject"]);
        let all = ["allow", "always_session", "always_project", "always_everywhere", "reject"];
        assert_eq!(ids(&ls, Some(OfferedScope::Everywhere)), all);
        let names = permission_options(&ls, session);
        assert_eq!(names[1].name, "Always allow (this session): run_command: ls *");
        // What cannot be read whole is not offered.
        assert_eq!(ids(&call(&"x".repeat(300), false), session), ["allow", "reject"]);
    }

    #[test]
    fn a_tool_that_is_off_can_be_kept_off_by_any_client() {
        let off = call("run_command", true);
        assert_eq!(ids(&off, None), ["allow", "reject", "reject_always"]);
        let names = permission_options(&off, Some(OfferedScope::Session));
        assert_eq!(names[1].name, "Allow, and turn run_command on for this session");
        let declined = ClientChoice::of("reject_always", None);
        let given = ClientAnswer::of(vec![(&off, declined)]);
        assert_eq!(given.declined, ["c1"]);
        assert_eq!(given.answer.choice("c1"), ApprovalChoice::No { reason: None });
        let no = ClientChoice::of("reject", Some("later".to_owned()));
        let no = ClientAnswer::of(vec![(&off, no)]);
        assert!(no.declined.is_empty());
    }

    #[test]
    fn every_option_means_what_its_name_says() {
        for scope in OfferedScope::ALL {
            let always = ApprovalChoice::Always { scope, seconds: None };
            assert_eq!(ClientChoice::of(always_id(scope), None), ClientChoice::Answered(always));
        }
        assert_eq!(ClientChoice::of("allow", None), ClientChoice::Answered(ApprovalChoice::Once));
        let no = ApprovalChoice::No { reason: None };
        assert_eq!(ClientChoice::of("anything", None), ClientChoice::Answered(no));
    }
}
