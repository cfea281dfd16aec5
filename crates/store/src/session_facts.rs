//! The facts of a session that a list of sessions shows: title, model, turns, cost.

use std::path::Path;

use jm_types::{SessionId, Usage};
use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::record::Record;
use crate::{Store, StoreError};

/// A session in a few figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFacts {
    /// The title that a person gave it.
    pub title: Option<String>,
    /// The content of its first prompt.
    pub first_prompt: Option<Value>,
    /// The prompts in it.
    pub turns: usize,
    /// The name of the model that answered last.
    pub model: Option<String>,
    /// The sum over all answers.
    pub usage: Usage,
    /// Millionths of a US dollar, as far as prices are known; `None` where none is.
    pub cost: Option<u64>,
}

impl Store {
    /// The facts of a session.
    pub fn session_facts(&self, session: &SessionId) -> Result<SessionFacts, StoreError> {
        let mut facts = SessionFacts::default();
        for record in self.titled_and_used(session)? {
            match record {
                Record::Titled { title } => {
                    facts.title = Some(title).filter(|title| !title.trim().is_empty());
                }
                Record::Used { model, usage, cost } => {
                    facts.model = Some(model);
                    facts.usage += usage;
                    facts.cost = match (facts.cost, cost) {
                        (Some(sum), more) => Some(sum.saturating_add(more.unwrap_or(0))),
                        (None, more) => more,
                    };
                }
                _ => {}
            }
        }
        let prompts = self.prompt_places(session)?;
        facts.turns = prompts.len();
        if let Some(first) = prompts.first() {
            facts.first_prompt = self.message_at(session, *first)?;
        }
        Ok(facts)
    }

    /// The name of the model that answered last in a workspace, of those that `is_wanted` accepts.
    pub fn last_model(
        &self,
        root: &Path,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, StoreError> {
        for view in self.sessions()?.into_iter().filter(|view| view.root == root) {
            for record in self.titled_and_used(&view.session)?.into_iter().rev() {
                if let Record::Used { model, .. } = record
                    && is_wanted(&model)
                {
                    return Ok(Some(model));
                }
            }
        }
        Ok(None)
    }

    fn titled_and_used(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT body FROM records INDEXED BY used WHERE session = ?1
             AND kind IN ('titled', 'used') ORDER BY seq",
        )?;
        let bodies = select.query_map([session.as_str()], |row| row.get::<_, String>(0))?;
        let mut records = Vec::new();
        for body in bodies {
            records.push(serde_json::from_str(&body?)?);
        }
        Ok(records)
    }

    /// The places of a session's prompts, in order.
    fn prompt_places(&self, session: &SessionId) -> Result<Vec<i64>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq FROM records INDEXED BY said WHERE session = ?1
             AND kind IN ('session_opened', 'message') AND kind = 'message'
             AND json_extract(body, '$.role') = 'user' ORDER BY seq",
        )?;
        let places = select.query_map([session.as_str()], |row| row.get(0))?;
        places.collect::<Result<_, _>>().map_err(Into::into)
    }

    /// The content of the message at a place.
    fn message_at(&self, session: &SessionId, seq: i64) -> Result<Option<Value>, StoreError> {
        let connection = self.connection();
        let mut select = connection
            .prepare_cached("SELECT body FROM records WHERE session = ?1 AND seq = ?2")?;
        let body: Option<String> =
            select.query_row(params![session.as_str(), seq], |row| row.get(0)).optional()?;
        drop(select);
        drop(connection);
        let record = body.map(|body| serde_json::from_str::<Record>(&body)).transpose()?;
        match record {
            Some(Record::Message { content: Some(content), .. }) => Ok(Some(content)),
            Some(Record::Message { content_blob: Some(sha256), .. }) => {
                Ok(Some(serde_json::from_slice(&self.blob(sha256)?)?))
            }
            _ => Ok(None),
        }
    }
}
