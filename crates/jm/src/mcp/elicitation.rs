//! A server's question, asked at the face that is open.
//!
//! Law: the person sees who asks, may always say no, and where nobody can be asked the answer is no.

use std::sync::OnceLock;

use jm_mcp::client::{ElicitationAnswer, ElicitationForm, FormField, FormFieldKind, ServerFace};
use jm_types::text::{one_line, sanitize};
use serde_json::{Map, Value};

type Asker = Box<dyn Fn(&str, &ElicitationForm) -> ElicitationAnswer + Send + Sync>;

/// The face that answers servers, once there is one.
#[derive(Default)]
pub(crate) struct Elicitor(OnceLock<Asker>);

impl std::fmt::Debug for Elicitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Elicitor").field(&self.0.get().is_some()).finish()
    }
}

impl Elicitor {
    /// The first face that opens answers.
    pub(crate) fn answer_with(
        &self,
        ask: impl Fn(&str, &ElicitationForm) -> ElicitationAnswer + Send + Sync + 'static,
    ) {
        self.0.get_or_init(|| Box::new(ask));
    }
}

impl ServerFace for Elicitor {
    fn elicit(&self, server: &str, form: &ElicitationForm) -> ElicitationAnswer {
        match self.0.get() {
            Some(ask) => ask(server, form),
            None => ElicitationAnswer::Declined,
        }
    }
}

/// A face as a dialogue sees it. `None` is a person who has gone.
pub(crate) trait Dialogue {
    fn choose(&mut self, question: &str, choices: &[(char, &str)]) -> Option<usize>;

    fn read(&mut self, question: &str) -> Option<String>;
}

/// Asks for every field in turn.
pub(crate) fn fill_in(
    face: &mut dyn Dialogue,
    server: &str,
    form: &ElicitationForm,
) -> ElicitationAnswer {
    let fields: Vec<String> = form.fields.iter().map(|field| one_line(&field.name)).collect();
    let wants = match fields.join(", ") {
        none if none.is_empty() => String::new(),
        names => format!("\nIt wants: {names}"),
    };
    let question = format!("Server {server} asks:\n{}{wants}", sanitize(&form.message));
    match face.choose(&question, &[('y', "answer"), ('n', "decline")]) {
        Some(0) => {}
        Some(_) => return ElicitationAnswer::Declined,
        None => return ElicitationAnswer::Cancelled,
    }
    let mut content = Map::new();
    for field in &form.fields {
        let mut complaint = String::new();
        loop {
            let Some(answer) = face.read(&format!("{complaint}{}", question_of(field))) else {
                return ElicitationAnswer::Cancelled;
            };
            match value_of(field, answer.trim()) {
                Ok(value) => {
                    content.extend(value.map(|value| (field.name.clone(), value)));
                    break;
                }
                Err(why) => complaint = format!("{why}. "),
            }
        }
    }
    ElicitationAnswer::Accepted(content)
}

/// `City, where you live [default: Bonn]`
fn question_of(field: &FormField) -> String {
    let title = one_line(field.title.as_deref().unwrap_or(&field.name));
    let description = field.description.as_deref().map(one_line);
    let description = description.map(|text| format!(", {text}")).unwrap_or_default();
    let choices = match &field.kind {
        FormFieldKind::Boolean => "yes or no".to_owned(),
        FormFieldKind::Choice(choices) => one_line(&choices.join(" | ")),
        FormFieldKind::Several(choices) => {
            format!("any of {}, with commas", one_line(&choices.join(" | ")))
        }
        FormFieldKind::Integer => "a whole number".to_owned(),
        FormFieldKind::Number => "a number".to_owned(),
        FormFieldKind::Text => String::new(),
    };
    let default = match (&field.default, field.is_required) {
        (Some(value), _) => format!("default: {}", one_line(&value.to_string())),
        (None, false) => "Enter = none".to_owned(),
        (None, true) => String::new(),
    };
    let notes: Vec<String> =
        [choices, default].into_iter().filter(|note| !note.is_empty()).collect();
    match notes.join("; ") {
        notes if notes.is_empty() => format!("{title}{description}: "),
        notes => format!("{title}{description} [{notes}]: "),
    }
}

/// The value that an answer means; `None` for a field that is left out.
fn value_of(field: &FormField, answer: &str) -> Result<Option<Value>, String> {
    if answer.is_empty() {
        return match (&field.default, field.is_required) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, false) => Ok(None),
            (None, true) => Err("This is required".to_owned()),
        };
    }
    let one_of = |choices: &[String], word: &str| {
        let found = choices.iter().find(|choice| *choice == word);
        found.cloned().ok_or_else(|| format!("Please answer {}", one_line(&choices.join(" or "))))
    };
    let value = match &field.kind {
        FormFieldKind::Text => Value::from(answer),
        FormFieldKind::Boolean => match answer.to_lowercase().as_str() {
            "y" | "yes" | "true" => Value::from(true),
            "n" | "no" | "false" => Value::from(false),
            _ => return Err("Please answer yes or no".to_owned()),
        },
        FormFieldKind::Integer => match answer.parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => return Err("Please enter a whole number".to_owned()),
        },
        FormFieldKind::Number => match answer.parse::<f64>() {
            Ok(number) if number.is_finite() => Value::from(number),
            Ok(_) | Err(_) => return Err("Please enter a number".to_owned()),
        },
        FormFieldKind::Choice(choices) => Value::from(one_of(choices, answer)?),
        FormFieldKind::Several(choices) => {
            let words = answer.split(',').map(str::trim).filter(|word| !word.is_empty());
            let words: Result<Vec<String>, String> =
                words.map(|word| one_of(choices, word)).collect();
            Value::from(words?)
        }
    };
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A person with answers ready.
    struct Scripted(Vec<&'static str>);

    impl Dialogue for Scripted {
        fn choose(&mut self, question: &str, choices: &[(char, &str)]) -> Option<usize> {
            assert!(!question.contains('\u{1b}'), "{question:?}");
            let answer = self.read(question)?;
            choices.iter().position(|(letter, _)| answer.starts_with(*letter))
        }

        fn read(&mut self, _: &str) -> Option<String> {
            (!self.0.is_empty()).then(|| self.0.remove(0).to_owned())
        }
    }

    fn field(name: &str, kind: FormFieldKind, is_required: bool) -> FormField {
        let (title, description, default) = (None, None, None);
        FormField { name: name.to_owned(), title, description, is_required, kind, default }
    }

    #[test]
    fn a_form_is_filled_in_declined_or_left() {
        let form = ElicitationForm {
            message: "who?\u{1b}[31m".to_owned(),
            fields: vec![
                field("name", FormFieldKind::Text, true),
                field("age", FormFieldKind::Integer, true),
                field("sure", FormFieldKind::Boolean, false),
                field("pet", FormFieldKind::Choice(vec!["cat".into(), "dog".into()]), false),
                field("days", FormFieldKind::Several(vec!["mo".into(), "tu".into()]), false),
            ],
        };
        let whole = json!({"name": "Ann", "age": 3, "pet": "dog", "days": ["tu", "mo"]});
        let cases = [
            (vec!["y", "", "Ann", "x", "3", "", "cow", "dog", "tu, mo"], Some(whole)),
            (vec!["n"], None),
        ];
        for (answers, expected) in cases {
            let answer = fill_in(&mut Scripted(answers), "s", &form);
            match expected {
                Some(Value::Object(content)) => {
                    assert_eq!(answer, ElicitationAnswer::Accepted(content));
                }
                _ => assert_eq!(answer, ElicitationAnswer::Declined),
            }
        }
        let gone = fill_in(&mut Scripted(vec!["y", "Ann"]), "s", &form);
        assert_eq!(gone, ElicitationAnswer::Cancelled);
    }
}
