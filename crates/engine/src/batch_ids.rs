//! The ids of the calls of one batch.
//!
//! Law: an id that is made here belongs to one call alone, whatever ids the vendor gives to others,
//! before it or after it. So a call is a duplicate only of one that was given the same id (FR-VAL-02a).

use std::collections::HashSet;

use jm_types::ToolCall;

#[derive(Debug, Clone, Default)]
pub(crate) struct BatchIds {
    taken: HashSet<String>,
    /// Those among them that were made here.
    made: HashSet<String>,
}

impl BatchIds {
    /// Keeps clear of the ids of calls that are known already.
    pub(crate) fn expect(&mut self, calls: &[ToolCall]) {
        self.taken.extend(calls.iter().map(|call| call.id.clone()));
    }

    /// The id of the next call, the session's `number`th: the given one, or a new one where there is
    /// none, or where it was made for another call before.
    pub(crate) fn take(&mut self, given: String, number: u64) -> String {
        if !given.is_empty() && !self.made.contains(&given) {
            self.taken.insert(given.clone());
            return given;
        }
        let mut made = format!("call_{number}");
        let mut other = 1_u64;
        while !self.taken.insert(made.clone()) {
            other += 1;
            made = format!("call_{number}_{other}");
        }
        self.made.insert(made.clone());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ids: &mut BatchIds, given: &[&str]) -> Vec<String> {
        let numbered = given.iter().zip(1..);
        numbered.map(|(id, number)| ids.take((*id).to_owned(), number)).collect()
    }

    /// FR-VAL-02a
    #[test]
    fn a_made_id_is_never_a_given_one() {
        let given = ["call_2", "", "", "call_3", "call_2_2", ""];
        let calls = given.map(|id| ToolCall::new(id, "t", &serde_json::json!({})));
        let mut ids = BatchIds::default();
        ids.expect(&calls);
        let all = taken(&mut ids, &given);
        assert_eq!(all, ["call_2", "call_2_3", "call_3_2", "call_3", "call_2_2", "call_6"]);
    }

    /// In a stream the ids to come are not known.
    #[test]
    fn a_given_id_that_was_made_before_is_replaced_and_not_a_duplicate() {
        let all = taken(&mut BatchIds::default(), &["", "call_1", "call_1", "x", "x"]);
        assert_eq!(all, ["call_1", "call_2", "call_3", "x", "x"]);
    }
}
