//! A server's question, asked at the client by `elicitation/create`.
//!
//! Law: the person sees which server asks. Only an answer that fits the form is handed on; where the client shows no
//! forms the answer is no, and that is told. A question ends with its turn.

use std::collections::BTreeMap;

use jm_acp::schema::{
    BooleanPropertySchema, CreateElicitationRequest, ElicitationAcceptAction, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationPropertySchema, ElicitationSchema,
    ElicitationSessionScope, EnumOption, IntegerPropertySchema, MultiSelectPropertySchema,
    NumberPropertySchema, StringPropertySchema,
};
use jm_mcp::client::{ElicitationAnswer, ElicitationForm, FormField, FormFieldKind};
use jm_types::text::{one_line, sanitize};
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::client_link::ClientLink;

impl ClientLink {
    /// Asks the person behind the client, for a thread that may wait.
    pub(crate) fn elicit(&self, server: &str, form: &ElicitationForm) -> ElicitationAnswer {
        if !self.features().fills_forms {
            self.note_unshown(server);
            return ElicitationAnswer::Declined;
        }
        let Ok(runtime) = Handle::try_current() else { return ElicitationAnswer::Declined };
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.turn_is_over() => ElicitationAnswer::Cancelled,
                answer = self.fill_in(server, form) => answer,
            }
        })
    }

    async fn fill_in(&self, server: &str, form: &ElicitationForm) -> ElicitationAnswer {
        let scope = ElicitationSessionScope::new(self.session().clone());
        let message = format!("Server {server} asks: {}", sanitize(&form.message));
        let mode = ElicitationFormMode::new(scope, schema_of(form));
        let request = CreateElicitationRequest::new(mode, message);
        let action = match self.client().create_elicitation(&request).await {
            Ok(response) => response.action,
            Err(_) => return ElicitationAnswer::Cancelled,
        };
        match action {
            ElicitationAction::Accept(ElicitationAcceptAction { content, .. }) => {
                match content_of(form, content.unwrap_or_default()) {
                    Ok(content) => ElicitationAnswer::Accepted(content),
                    Err(why) => {
                        self.note(&format!("The answer to server {server} was not sent: {why}"));
                        ElicitationAnswer::Declined
                    }
                }
            }
            ElicitationAction::Decline => ElicitationAnswer::Declined,
            // What is not known is no yes.
            _ => ElicitationAnswer::Cancelled,
        }
    }
}

/// The form as the protocol has it. All texts of the server's are shown on one line.
fn schema_of(form: &ElicitationForm) -> ElicitationSchema {
    form.fields.iter().fold(ElicitationSchema::new(), |schema, field| {
        schema.property(field.name.clone(), property_of(field), field.is_required)
    })
}

fn property_of(field: &FormField) -> ElicitationPropertySchema {
    let title = one_line(field.title.as_deref().unwrap_or(&field.name));
    let description = field.description.as_deref().map(one_line);
    let default = field.default.as_ref();
    let options = |choices: &[String]| -> Vec<EnumOption> {
        choices.iter().map(|choice| EnumOption::new(choice.clone(), one_line(choice))).collect()
    };
    let text = StringPropertySchema::new()
        .title(title.clone())
        .description(description.clone())
        .default_value(default.and_then(Value::as_str).map(str::to_owned));
    match &field.kind {
        FormFieldKind::Text => ElicitationPropertySchema::String(text),
        FormFieldKind::Choice(choices) => {
            ElicitationPropertySchema::String(text.one_of(options(choices)))
        }
        FormFieldKind::Number => NumberPropertySchema::new()
            .title(title)
            .description(description)
            .default_value(default.and_then(Value::as_f64))
            .into(),
        FormFieldKind::Integer => IntegerPropertySchema::new()
            .title(title)
            .description(description)
            .default_value(default.and_then(Value::as_i64))
            .into(),
        FormFieldKind::Boolean => BooleanPropertySchema::new()
            .title(title)
            .description(description)
            .default_value(default.and_then(Value::as_bool))
            .into(),
        FormFieldKind::Several(choices) => MultiSelectPropertySchema::titled(options(choices))
            .title(title)
            .description(description)
            .default_value(default.and_then(texts))
            .into(),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}

/// The values of an answer, where each was asked for and is of its kind, and none is missing.
fn content_of(
    form: &ElicitationForm,
    mut given: BTreeMap<String, ElicitationContentValue>,
) -> Result<Map<String, Value>, String> {
    let mut content = Map::new();
    for field in &form.fields {
        let name = one_line(&field.name);
        match (given.remove(&field.name), field.is_required) {
            (Some(value), _) => {
                let value = value_of(&field.kind, value);
                let value = value.ok_or_else(|| format!("{name} has another kind of value"))?;
                content.insert(field.name.clone(), value);
            }
            (None, true) => return Err(format!("{name} is required")),
            (None, false) => {}
        }
    }
    match given.keys().next() {
        Some(name) => Err(format!("{} was not asked for", one_line(name))),
        None => Ok(content),
    }
}

fn value_of(kind: &FormFieldKind, value: ElicitationContentValue) -> Option<Value> {
    use ElicitationContentValue as Given;
    match (kind, value) {
        (FormFieldKind::Text, Given::String(text)) => Some(Value::from(text)),
        (FormFieldKind::Choice(choices), Given::String(text)) => {
            choices.contains(&text).then(|| Value::from(text))
        }
        (FormFieldKind::Several(choices), Given::StringArray(texts)) => {
            texts.iter().all(|text| choices.contains(text)).then(|| Value::from(texts))
        }
        (FormFieldKind::Boolean, Given::Boolean(is)) => Some(Value::from(is)),
        (FormFieldKind::Integer | FormFieldKind::Number, Given::Integer(number)) => {
            Some(Value::from(number))
        }
        (FormFieldKind::Number, Given::Number(number)) => Some(Value::from(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> ElicitationForm {
        let field = |name: &str, kind: FormFieldKind, is_required: bool| FormField {
            name: name.to_owned(),
            title: Some(format!("{name}\u{1b}[31m!")),
            description: None,
            is_required,
            kind,
            default: None,
        };
        let colours = || vec!["red".to_owned(), "blue".to_owned()];
        let fields = vec![
            field("name", FormFieldKind::Text, true),
            field("age", FormFieldKind::Integer, false),
            field("height", FormFieldKind::Number, false),
            field("sure", FormFieldKind::Boolean, false),
            field("colour", FormFieldKind::Choice(colours()), false),
            field("colours", FormFieldKind::Several(colours()), false),
        ];
        ElicitationForm { message: "who?".to_owned(), fields }
    }

    #[test]
    fn a_form_is_a_schema_without_what_a_terminal_acts_on() {
        let schema = serde_json::to_value(schema_of(&form())).unwrap();
        assert_eq!(schema["required"], json!(["name"]));
        let property = |name: &str| &schema["properties"][name];
        assert_eq!(property("age")["type"], "integer");
        assert_eq!(property("height")["type"], "number");
        assert_eq!(property("sure")["type"], "boolean");
        assert_eq!(property("colour")["oneOf"][1], json!({"const": "blue", "title": "blue"}));
        assert_eq!(property("colours")["items"]["anyOf"][0]["const"], "red");
        assert!(!schema.to_string().contains("\\u001b"), "{schema}");
    }

    #[test]
    fn only_an_answer_that_fits_is_handed_on() {
        let check = |given: Value| {
            let given = serde_json::from_value(given).unwrap();
            content_of(&form(), given)
        };
        let whole = json!({
            "name": "Ann", "age": 3, "height": 1.5, "sure": true, "colour": "red",
            "colours": ["blue"],
        });
        assert_eq!(Value::Object(check(whole.clone()).unwrap()), whole);
        let whole_number = json!({"name": "Ann", "height": 2});
        assert_eq!(Value::Object(check(whole_number.clone()).unwrap()), whole_number);
        for (given, why) in [
            (json!({}), "name is required"),
            (json!({"name": 1}), "name has another kind of value"),
            (json!({"name": "", "age": 1.5}), "age has another kind of value"),
            (json!({"name": "", "colour": "green"}), "colour has another kind of value"),
            (json!({"name": "", "colours": ["green"]}), "colours has another kind of value"),
            (json!({"name": "", "password": "x"}), "password was not asked for"),
        ] {
            assert_eq!(check(given), Err(why.to_owned()));
        }
    }
}
