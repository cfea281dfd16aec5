//! `jm export`: a session as JSON lines, or as one page that needs nothing else.
//!
//! Law: everything that came from outside is escaped, and the page loads nothing and runs nothing.

use jm_system::clock::utc_moment;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_store::{CallView, Record, SessionView, Store, StoredResult, StoredStream};
use jm_types::SessionId;
use jm_types::text::{one_line, sanitize};

use super::conversation::{self, Said};
use super::{exit, history, print};
use crate::cli::{Common, ExportArgs};
use crate::sessions;

pub(crate) fn run(common: &Common, export: &ExportArgs) -> Result<u8> {
    let store = sessions::store()?;
    let view = history::choose(&store, common, export.id.as_deref())?;
    let calls = store.calls(&view.session).map_err(sessions::told)?;
    if export.html {
        let said = conversation::said(&store, &view.session)?;
        print::text(&page(&store, &view, &said, &calls))?;
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
    let calls = store.calls(session).map_err(sessions::told)?;
    Ok(page(&store, &view, &conversation::said(&store, session)?, &calls))
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

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color:#222;background:#fff}pre{background:#f5f5f5;padding:.7rem;overflow:auto;\
white-space:pre-wrap}article{border-top:1px solid #ccc;margin-top:1rem}.failed{color:#a00}\
time,.key{color:#666}summary{cursor:pointer}";

fn page(store: &Store, view: &SessionView, said: &[Said], calls: &[CallView]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Session {0}</title><style>{STYLE}</style></head><body><h1>Session {0}</h1>\n",
        escape(&view.session)
    );
    let mut said = said.iter().peekable();
    for call in calls {
        while let Some(earlier) = said.next_if(|said| said.seq < call.seq) {
            html.push_str(&speech(earlier));
        }
        html.push_str(&article(store, &view.root, call));
    }
    html.extend(said.map(speech));
    html.push_str("</body></html>\n");
    html
}

fn speech(said: &Said) -> String {
    format!(
        "<article><h2>{}</h2><p><time>{}</time></p>\n<pre>{}</pre></article>\n",
        escape(said.who()),
        utc_moment(said.at),
        escape(&said.text())
    )
}

/// A heading of one line that opens and closes the rest (FJ-UI).
fn article(store: &Store, root: &Path, call: &CallView) -> String {
    let has_failed = call.result().is_some_and(|(result, _)| result.error.is_some());
    let class = if has_failed { " class=\"failed\"" } else { "" };
    let mut html = format!(
        "<article><details><summary{class}><b>{}</b> {} <time>{}</time> \
         <span class=\"key\">{}</span></summary>\n<pre>{}</pre>\n",
        escape(&call.call.name),
        escape(&history::headline(call)),
        utc_moment(call.at),
        escape(&call.call.call),
        escape(&call.call.arguments)
    );
    let diff = history::diffs(store, root, call);
    if !diff.is_empty() {
        let links: Vec<String> = history::places(store, call).iter().map(link).collect();
        html.push_str(&format!("<p>{}</p><pre>{}</pre>\n", links.join(", "), escape(&diff)));
    }
    if let Some((result, _)) = call.result() {
        let stored = result.content_blob.and_then(|sha256| store.blob(sha256).ok());
        let stored = stored.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let content = result.content.clone().or(stored).unwrap_or_default();
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
    html.push_str("</details></article>\n");
    html
}

/// Opens a changed file, at the line where an editor or a viewer understands that.
fn link((path, line): &(PathBuf, usize)) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let encoded: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(
            |byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") },
        )
        .collect();
    let shown = escape(&format!("{}:{line}", one_line(&path.to_string_lossy())));
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
