//! `jm export`: a session as JSON lines, or as one page that needs nothing else.
//!
//! Law: everything that came from outside is escaped, and the page loads nothing and runs nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_store::{CallView, Record, SessionFacts, SessionView, Store, StoredResult, StoredStream};
use jm_system::clock::local_time;
use jm_types::SessionId;
use jm_types::text::{one_line, sanitize};

use super::story::{self, Said, Scene, Spoken};
use super::{exit, history, print};
use crate::cli::{Common, ExportArgs};
use crate::session_name::title_of;
use crate::sessions;

pub(crate) fn run(common: &Common, export: &ExportArgs) -> Result<u8> {
    let store = sessions::store()?;
    let view = history::choose(&store, common, export.id.as_deref())?;
    if export.html {
        print::text(&page(&store, &view)?)?;
        return Ok(exit::RAN);
    }
    for (seq, at, record) in store.records(&view.session, 0).map_err(sessions::told)? {
        print::json(&serde_json::json!({"seq": seq, "at": at, "record": record}))?;
        if let Record::Finished { call, result, .. } = &record {
            for (stream, text) in beginnings(&store, result)? {
                print::json(&serde_json::json!({
                    "output": call, "stream": stream.stream, "total": stream.total, "text": text,
                }))?;
            }
        }
    }
    Ok(exit::RAN)
}

/// A session as one page.
pub(crate) fn page_of(session: &SessionId) -> Result<String> {
    let store = sessions::store()?;
    let view = store.session(session).map_err(sessions::told)?;
    let view = view.with_context(|| format!("Session {session} is not in the journal"))?;
    page(&store, &view)
}

/// How much of an output an export holds.
const MOST_OUTPUT: u64 = 64 * 1024;

/// The streams of an output, each with its beginning.
fn beginnings<'a>(
    store: &Store,
    result: &'a StoredResult,
) -> Result<Vec<(&'a StoredStream, String)>> {
    let streams = result.output.iter().flat_map(|output| &output.streams);
    let beginning = |stream: &'a StoredStream| {
        let mut bytes = Vec::new();
        store.read_output(stream, 0, MOST_OUTPUT, |piece| {
            bytes.extend_from_slice(piece);
            anyhow::Ok(())
        })?;
        Ok((stream, String::from_utf8_lossy(&bytes).into_owned()))
    };
    streams.map(beginning).collect()
}

const STYLE: &str = ":root{color-scheme:light dark;--fg:#222;--bg:#fff;--soft:#f5f5f5;--line:#ccc;--dim:#666;\
--bad:#a00;--add:#e6ffec;--del:#ffebe9;--you:#0550ae}@media(prefers-color-scheme:dark){:root{--fg:#ddd;--bg:#16181d;\
--soft:#22252c;--line:#3a3f4a;--dim:#9aa0aa;--bad:#ff7b72;--add:#12361f;--del:#451a1d;--you:#79b8ff}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--fg);\
background:var(--bg)}pre{background:var(--soft);padding:.7rem;overflow:auto;white-space:pre-wrap;\
overflow-wrap:anywhere}.prompt{border-left:4px solid var(--you);padding-left:.8rem;font-weight:600;\
white-space:pre-wrap;margin-top:2rem}.answer{white-space:pre-wrap;overflow-wrap:anywhere}\
.note,time,.key,.thinking{color:var(--dim)}.failed{color:var(--bad)}summary{cursor:pointer}\
details{margin:.3rem 0}ins,del{text-decoration:none;display:block}ins{background:var(--add)}del{background:var(--del)}\
a{color:var(--you)}";

fn page(store: &Store, view: &SessionView) -> Result<String> {
    let facts = store.session_facts(&view.session).map_err(sessions::told)?;
    let title = match title_of(&facts) {
        title if title.is_empty() => format!("Session {}", view.session),
        title => title,
    };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{0}</title><style>{STYLE}</style></head><body><h1>{0}</h1>\n<p class=\"note\">{1}</p>\n",
        escape(&title),
        escape(&about(view, &facts))
    );
    story::tell(store, &view.session, 0, |scene| {
        match scene {
            Scene::Said(said) => html.push_str(&speech(&said)),
            Scene::Call(call) => html.push_str(&article(store, &view.root, &call)),
        }
        Ok(())
    })?;
    html.push_str("</body></html>\n");
    Ok(html)
}

/// Session, directory, model, turns and cost in a line.
fn about(view: &SessionView, facts: &SessionFacts) -> String {
    let mut parts = vec![format!("Session {}", view.session), local_time(view.opened)];
    parts.push(view.root.display().to_string());
    parts.extend(facts.model.clone());
    if facts.turns > 0 {
        parts.push(format!("{} prompts", facts.turns));
        parts.push(format!("{} tokens in, {} out", facts.usage.input, facts.usage.output));
    }
    parts
        .extend(facts.cost.map(|cost| format!("${}.{:04}", cost / 1_000_000, cost / 100 % 10_000)));
    parts.join(" · ")
}

fn speech(said: &Said) -> String {
    let mut html = String::new();
    for spoken in said.spoken() {
        let text = escape(spoken.text().trim_end());
        html.push_str(&match spoken {
            Spoken::Prompt(_) => {
                format!("<div class=\"prompt\">{text}</div><time>{}</time>\n", local_time(said.at))
            }
            Spoken::Thinking(_) => format!(
                "<details class=\"thinking\"><summary>Thinking</summary><pre>{text}</pre></details>\n"
            ),
            Spoken::Answer(_) => format!("<div class=\"answer\">{text}</div>\n"),
            Spoken::Note(_) => format!("<p class=\"note\">{text}</p>\n"),
        });
    }
    html
}

/// A heading of one line that opens and closes the rest (FJ-UI).
fn article(store: &Store, root: &Path, call: &CallView) -> String {
    let has_failed = call.result().is_some_and(|(result, _)| result.error.is_some());
    let class = if has_failed { " class=\"failed\"" } else { "" };
    let mut html = format!(
        "<details><summary{class}><b>{}</b> {} [{}] <time>{}</time> \
         <span class=\"key\">{}</span></summary>\n",
        escape(&call.call.name),
        escape(&one_line(call.summary())),
        escape(&history::outcome(call)),
        local_time(call.at),
        escape(&call.call.call)
    );
    html.push_str(&format!("<pre>{}</pre>\n", escape(&arguments(&call.call.arguments))));
    let diff = history::diffs(store, root, call);
    if !diff.is_empty() {
        let links: Vec<String> =
            history::places(store, call).iter().map(|place| link(root, place)).collect();
        html.push_str(&format!("<p>{}</p><pre>{}</pre>\n", links.join(", "), coloured(&diff)));
    }
    if let Some((result, _)) = call.result() {
        let content = store.content(result).unwrap_or_default();
        html.push_str(&format!("<pre>{}</pre>\n", escape(&content)));
        for (stream, text) in beginnings(store, result).unwrap_or_default() {
            html.push_str(&format!(
                "<h3>{}</h3><pre>{}</pre><p class=\"key\">jm output {}</p>\n",
                escape(&stream.in_words()),
                escape(&text),
                escape(&call.call.call)
            ));
        }
    }
    html.push_str("</details>\n");
    html
}

/// Arguments as `name: value` lines; what is no object, as it was.
fn arguments(text: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    let line = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A diff whose lines are marked as added and removed.
fn coloured(diff: &str) -> String {
    let is_heading = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
    let line = |line: &str| match line.as_bytes().first() {
        _ if is_heading(line) => format!("{}\n", escape(line)),
        Some(b'+') => format!("<ins>{}</ins>", escape(line)),
        Some(b'-') => format!("<del>{}</del>", escape(line)),
        _ => format!("{}\n", escape(line)),
    };
    diff.lines().map(line).collect()
}

/// Opens a changed file, at the line where an editor or a viewer understands that.
fn link(root: &Path, (path, line): &(PathBuf, usize)) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let encoded: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(
            |byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") },
        )
        .collect();
    let shown = escape(&format!("{}:{line}", one_line(&history::from_root(root, path))));
    format!("<a href=\"file://{encoded}#L{line}\">{shown}</a>")
}

/// Text for HTML: no markup, no control characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in sanitize(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        let nasty = "<script>alert('x')</script>\u{1b}[31m&\"";
        assert_eq!(escape(nasty), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;");
    }
}
