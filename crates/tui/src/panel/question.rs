//! A question with a few answers, such as the recovery of calls that a crash interrupted.

use crate::text::{Line, Role, Style};

/// A question with a key for each answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelQuestion {
    /// The number by which it is answered.
    pub id: u64,
    /// The question in one line.
    pub title: String,
    /// The facts, drawn from data.
    pub facts: Vec<Line>,
    /// The answers in order.
    pub choices: Vec<PanelChoice>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelChoice {
    /// The key that gives it.
    pub key: char,
    /// The words beside the key.
    pub label: String,
}

impl PanelChoice {
    /// An answer with its key.
    pub fn new(key: char, label: &str) -> Self {
        Self { key, label: label.to_owned() }
    }
}

impl PanelQuestion {
    /// The rows of the panel.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = vec![Line::of(&self.title, Style::of(Role::Warning).bold())];
        lines.extend(self.facts.iter().cloned());
        lines
    }

    /// The choices, side by side where there is room.
    pub fn answers(&self) -> Vec<Line> {
        let answer = |choice: &PanelChoice| {
            let line = Line::of(choice.key.to_string(), Role::Accent);
            line.add(format!(" {}", choice.label), Role::Text)
        };
        self.choices.iter().map(answer).collect()
    }

    /// By its key, or by its number.
    pub fn choice(&self, key: char) -> Option<usize> {
        let by_key = self.choices.iter().position(|choice| choice.key == key);
        let by_number = || key.to_digit(10)?.checked_sub(1).map(|number| number as usize);
        by_key.or_else(|| by_number().filter(|number| *number < self.choices.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_key_or_a_number() {
        let question = PanelQuestion {
            id: 1,
            title: "Keep?".into(),
            facts: vec![],
            choices: vec![PanelChoice::new('k', "keep"), PanelChoice::new('u', "undo")],
        };
        let answers: Vec<String> = question.answers().iter().map(Line::plain).collect();
        assert_eq!(answers, ["k keep", "u undo"]);
        let picks = ['k', 'u', '2', '3', '0', 'x'].map(|key| question.choice(key));
        assert_eq!(picks, [Some(0), Some(1), Some(1), None, None, None]);
    }
}
