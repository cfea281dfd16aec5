//! The status line: who answers, where, how held in, how asked, and what was used.

use crate::block::numbers;
use crate::text::{Line, Role};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    pub model: String,
    pub root: String,
    pub confinement: String,
    pub approval: String,
    pub session: String,
    pub context_percent: Option<u8>,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cached: u64,
    pub cost: Option<f64>,
}

impl Status {
    /// On one line; what matters least goes first where there is no room.
    pub fn line(&self, queued: usize, width: usize) -> Line {
        let role = |name: &str| if name == "auto" { Role::Warning } else { Role::Muted };
        let mut fields: Vec<(u8, Line)> = Vec::new();
        let mut field = |rank: u8, text: String, role: Role| {
            if !text.is_empty() {
                fields.push((rank, Line::of(text, role)));
            }
        };
        field(1, self.model.clone(), Role::Text);
        field(5, self.root.clone(), Role::Muted);
        field(6, self.confinement.clone(), Role::Muted);
        let approval = if self.approval.is_empty() { "" } else { "approve " };
        field(3, format!("{approval}{}", self.approval), role(&self.approval));
        if let Some(percent) = self.context_percent {
            let role = if percent >= 80 { Role::Warning } else { Role::Muted };
            field(2, format!("{percent}% context"), role);
        }
        if self.tokens_in + self.tokens_out > 0 {
            let (tokens_in, out) =
                (numbers::count(self.tokens_in), numbers::count(self.tokens_out));
            field(7, format!("{tokens_in} in · {out} out"), Role::Muted);
        }
        field(4, self.cost.map(|cost| format!("${cost:.2}")).unwrap_or_default(), Role::Muted);
        field(0, if queued > 0 { format!("{queued} queued") } else { String::new() }, Role::Accent);
        let separator = 3;
        let total = |fields: &[(u8, Line)]| -> usize {
            fields.iter().map(|(_, line)| line.width() + separator).sum::<usize>()
        };
        while fields.len() > 1 && total(&fields) > width + separator {
            let last = fields.iter().map(|(rank, _)| *rank).max().unwrap_or_default();
            fields.retain(|(rank, _)| *rank != last);
        }
        let mut line = Line::new();
        for (number, (_, field)) in fields.into_iter().enumerate() {
            if number > 0 {
                line.push(" · ", Role::Muted);
            }
            line.append(field);
        }
        line.cut(width)
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
            confinement: "namespaces".into(),
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
            "claude · ~/work · namespaces · approve prompt · 12% context · 34.5k in · 830 out · $0.02 · 2 queued"
        );
        assert_eq!(line(2, 40), "claude · 12% context · 2 queued");
        assert_eq!(line(0, 40), "claude · approve prompt · 12% context");
        assert_eq!(line(0, 4), "cla…");
        assert_eq!(status.usage(), "34.5k in · 830 out · 0 cached · $0.0210");
    }
}
