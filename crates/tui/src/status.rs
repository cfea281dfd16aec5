//! The status line: who answers, where, how held in, how asked, and what was used.

use crate::block::numbers;
use crate::text::{Line, Role};

/// The facts of the status line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// The model's full name.
    pub model: String,
    /// The workspace root, shortened.
    pub root: String,
    /// The state of confinement in a word.
    pub confinement: String,
    /// The approval mode in a word.
    pub approval: String,
    /// The session's name or id.
    pub session: String,
    /// The part of the context that is used; `None` where it is not known.
    pub context_percent: Option<u8>,
    /// Tokens of all requests.
    pub tokens_in: u64,
    /// Tokens of all answers.
    pub tokens_out: u64,
    /// Tokens that vendors had in their caches.
    pub tokens_cached: u64,
    /// US dollars; `None` where no price is known.
    pub cost: Option<f64>,
    /// Processes that the session started in the background, and that run.
    pub processes: usize,
    /// Ports of them that are open on this machine.
    pub published: Vec<u16>,
}

/// A part of the line in two lengths; the highest rank goes first.
struct Field {
    rank: u8,
    long: String,
    short: String,
    is_short: bool,
    role: Role,
}

impl Field {
    fn of(rank: u8, long: &str, short: &str, role: Role) -> Self {
        Self { rank, long: long.to_owned(), short: short.to_owned(), is_short: false, role }
    }

    fn can_be_shorter(&self) -> bool {
        self.short.len() < self.long.len() && !self.short.is_empty()
    }

    fn line(&self) -> Line {
        Line::of(if self.is_short { &self.short } else { &self.long }, self.role)
    }
}

impl Status {
    /// On one line; where there is no room, fields are shortened, then what matters least goes first.
    pub fn line(&self, queued: usize, width: usize) -> Line {
        let mut fields = self.fields(queued);
        let separator = 3;
        let total = |fields: &[Field]| -> usize {
            let widths = fields.iter().map(|field| field.line().width() + separator);
            widths.sum::<usize>().saturating_sub(separator)
        };
        while fields.len() > 1 && total(&fields) > width {
            let long = fields.iter_mut().filter(|field| !field.is_short && field.can_be_shorter());
            match long.max_by_key(|field| field.rank) {
                Some(field) => field.is_short = true,
                None => {
                    let last = fields.iter().map(|field| field.rank).max().unwrap_or_default();
                    fields.retain(|field| field.rank != last);
                }
            }
        }
        let mut line = Line::new();
        for (number, field) in fields.iter().enumerate() {
            if number > 0 {
                line.push(" · ", Role::Muted);
            }
            line.append(field.line());
        }
        line.cut(width)
    }

    /// Everything that is known, in order of the line.
    fn fields(&self, queued: usize) -> Vec<Field> {
        let after = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
        let mut fields = vec![
            Field::of(1, &self.model, &after(&self.model), Role::Text),
            Field::of(6, &self.root, &after(&self.root), Role::Muted),
            Field::of(7, &self.confinement, &self.confinement, self.confinement_role()),
        ];
        if !self.approval.is_empty() {
            let role = if self.approval == "auto" { Role::Warning } else { Role::Muted };
            let approval = format!("approve {}", self.approval);
            fields.push(Field::of(3, &approval, &approval, role));
        }
        if let Some(percent) = self.context_percent {
            let role = if percent >= 80 { Role::Warning } else { Role::Muted };
            fields.push(Field::of(2, &format!("{percent}% context"), &format!("{percent}%"), role));
        }
        if self.tokens_in + self.tokens_out > 0 {
            let (tokens_in, out) =
                (numbers::count(self.tokens_in), numbers::count(self.tokens_out));
            let long = format!("{tokens_in} in · {out} out");
            fields.push(Field::of(8, &long, &format!("{tokens_in}/{out}"), Role::Muted));
        }
        let cost = self.cost.map(|cost| format!("${cost:.2}")).unwrap_or_default();
        fields.push(Field::of(5, &cost, &cost, Role::Muted));
        if self.processes > 0 {
            let noun = if self.processes == 1 { "process" } else { "processes" };
            let processes = format!("{} {noun}", self.processes);
            let short = format!("{} proc", self.processes);
            fields.push(Field::of(4, &processes, &short, Role::Accent));
        }
        if let [first, more @ ..] = &self.published[..] {
            let more: String = more.iter().map(|port| format!(",{port}")).collect();
            let short = format!(":{first}{more}");
            fields.push(Field::of(1, &format!("127.0.0.1{short}"), &short, Role::Warning));
        }
        if queued > 0 {
            let queued = format!("{queued} queued");
            fields.push(Field::of(0, &queued, &queued, Role::Accent));
        }
        fields.retain(|field| !field.long.is_empty());
        fields
    }

    /// Commands that nothing confines are worth a look.
    fn confinement_role(&self) -> Role {
        if self.confinement.starts_with("no ") { Role::Warning } else { Role::Muted }
    }

    /// For `/cost`.
    pub fn usage(&self) -> String {
        let count = numbers::count;
        let cost = self.cost.map(|cost| format!(" · ${cost:.4}")).unwrap_or_default();
        format!(
            "{} in · {} out · {} cached{cost}",
            count(self.tokens_in),
            count(self.tokens_out),
            count(self.tokens_cached)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_most_stays() {
        let status = Status {
            model: "claude".into(),
            root: "~/work".into(),
            confinement: "sandbox on".into(),
            approval: "prompt".into(),
            context_percent: Some(12),
            tokens_in: 34_500,
            tokens_out: 830,
            cost: Some(0.021),
            ..Status::default()
        };
        let line = |queued, width| status.line(queued, width).plain();
        assert_eq!(
            line(2, 120),
            "claude · ~/work · sandbox on · approve prompt · 12% context · 34.5k in · 830 out · $0.02 · 2 queued"
        );
        assert_eq!(
            line(0, 79),
            "claude · ~/work · sandbox on · approve prompt · 12% context · 34.5k/830 · $0.02"
        );
        assert_eq!(line(2, 40), "claude · approve prompt · 12% · 2 queued");
        assert_eq!(line(0, 40), "claude · approve prompt · 12% · $0.02");
        assert_eq!(line(0, 4), "cla…");
        let busy = Status { processes: 2, ..status.clone() };
        assert!(busy.line(0, 120).plain().ends_with("$0.02 · 2 processes"));
        assert_eq!(busy.line(0, 40).plain(), "claude · approve prompt · 12% · 2 proc");
        assert!(Status { processes: 1, ..busy }.line(0, 120).plain().ends_with(" · 1 process"));
        let open = Status { processes: 1, published: vec![8123], ..status.clone() };
        assert!(open.line(0, 120).plain().ends_with(" · 1 process · 127.0.0.1:8123"));
        assert_eq!(open.line(0, 40).plain(), "claude · approve prompt · 12% · :8123");
        let open = Status { published: vec![8123, 8124], ..status.clone() };
        assert!(open.line(0, 120).plain().ends_with(" · 127.0.0.1:8123,8124"));
        assert_eq!(status.usage(), "34.5k in · 830 out · 0 cached · $0.0210");
    }
}
