//! Finding files and text (FJ-LIST, FJ-GLOB, FJ-SEARCH).

use jm_files::EntryKind;
use jm_tools::Output;
use jm_tools::ops::find::{FindOutcome, FoundFile};
use jm_tools::ops::listing::{Links, Listing};
use jm_tools::ops::search::{
    Case, FileHits, FoundLine, Hit, MissingStart, Query, Search, SearchOutcome, SearchStart, Syntax,
};
use jm_tools::toolsets::{Lowered, parse_args};
use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

const DEFAULT_DEPTH: usize = 5;
/// A model can do nothing with more names than this.
const MOST_LISTED: usize = 10_000;
const DEFAULT_FILES: usize = 1000;
const DEFAULT_MATCHES: usize = 200;
const MOST_MATCHES: usize = 10_000;
/// The folder of installed packages.
const INSTALLED: &str = "node_modules";
/// The characters that make a path a glob.
const WILD: [char; 4] = ['*', '?', '[', '{'];

#[derive(Deserialize)]
struct ListFiles {
    directory: Option<String>,
    max_depth: Option<usize>,
    #[serde(default)]
    include_hidden: bool,
    #[serde(default)]
    follow_symlinks: bool,
}

pub(super) fn lower_list_files(args: Value, _: &Limits) -> Result<Lowered<Listing>, ToolError> {
    let args: ListFiles = parse_args(args)?;
    let path = args.directory.unwrap_or_else(|| ".".to_owned());
    let summary = format!("List {path}");
    let listing = Listing {
        path,
        depth: args.max_depth.unwrap_or(DEFAULT_DEPTH),
        hidden: args.include_hidden,
        links: if args.follow_symlinks { Links::Entered } else { Links::Shown },
        patterns: Vec::new(),
        most: MOST_LISTED,
    };
    Ok(Lowered::new(listing, summary))
}

pub(super) fn raise_list_files(found: FindOutcome, room: usize) -> Result<Output, ToolError> {
    Ok(Output::Json(Value::Array(fitting(&found, room))))
}

#[derive(Deserialize)]
struct Glob {
    patterns: Vec<String>,
    max_results: Option<usize>,
    #[serde(default)]
    include_hidden: bool,
}

pub(super) fn lower_glob(args: Value, _: &Limits) -> Result<Lowered<Listing>, ToolError> {
    let args: Glob = parse_args(args)?;
    // A pattern like `!x` would turn the meaning of the others around.
    if let Some(pattern) =
        args.patterns.iter().find(|pattern| pattern.starts_with('!') || pattern.is_empty())
    {
        return Err(ToolError::bad_args(format!("`{pattern}` is no pattern of files")));
    }
    let summary = format!("Find {}", args.patterns.join(" "));
    let patterns = args.patterns.iter().map(|pattern| from_root(pattern));
    let listing = Listing {
        path: ".".to_owned(),
        depth: usize::MAX,
        hidden: args.include_hidden,
        links: Links::Shown,
        patterns: patterns.collect::<Result<_, _>>()?,
        most: args.max_results.unwrap_or(DEFAULT_FILES).min(MOST_LISTED),
    };
    Ok(Lowered::new(listing, summary))
}

pub(super) fn raise_glob(found: FindOutcome, room: usize) -> Result<Output, ToolError> {
    let frame = r#"{"files":,"truncated":true}"#.len();
    let files = fitting(&found, room.saturating_sub(frame));
    let is_cut = found.is_cut || files.len() < found.files.len();
    let mut result = json!({"files": files});
    if is_cut {
        result["truncated"] = json!(true);
    }
    Ok(Output::Json(result))
}

/// The first entries, as many as fit.
fn fitting(found: &FindOutcome, room: usize) -> Vec<Value> {
    within(found.files.iter().map(entry), room)
}

fn within(values: impl Iterator<Item = Value>, room: usize) -> Vec<Value> {
    let mut left = room.saturating_sub(2);
    let fits = |value: &Value| {
        let length = value.to_string().len() + 1;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    values.take_while(fits).collect()
}

fn entry(file: &FoundFile) -> Value {
    let kind = match file.kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Symlink => "symlink",
        EntryKind::Other | EntryKind::Unknown => "other",
    };
    let mtime = file.modified_epoch_ms.map_or(0, |time| time.div_euclid(1000));
    json!({"path": file.path, "size": file.size.unwrap_or(0), "mtime": mtime, "type": kind})
}

#[derive(Deserialize)]
struct SearchArgs {
    query: String,
    #[serde(default)]
    is_regex: bool,
    #[serde(default)]
    case_sensitive: bool,
    #[serde(default)]
    include_paths: Vec<String>,
    #[serde(default)]
    exclude_paths: Vec<String>,
    max_results: Option<usize>,
}

pub(super) fn lower_search(args: Value, _: &Limits) -> Result<Lowered<Search>, ToolError> {
    let args: SearchArgs = parse_args(args)?;
    let summary = format!("Search for {}", args.query);
    let (mut paths, mut starts) = (Vec::new(), Vec::new());
    for path in &args.include_paths {
        paths.extend(globs(path, "")?);
        starts.push(start(path)?);
    }
    // No editor shows them; whoever names them means them.
    if !args.include_paths.iter().any(|path| path.contains(INSTALLED)) {
        paths.push(format!("!{INSTALLED}"));
    }
    for path in &args.exclude_paths {
        paths.extend(globs(path, "!")?);
    }
    let query = Query {
        text: args.query,
        syntax: if args.is_regex { Syntax::Regex } else { Syntax::Literal },
        case: if args.case_sensitive { Case::Sensitive } else { Case::Insensitive },
    };
    let search = Search {
        globs: paths,
        starts,
        most: args.max_results.unwrap_or(DEFAULT_MATCHES).min(MOST_MATCHES),
        ..Search::new(query)
    };
    Ok(Lowered::new(search, summary))
}

/// A path stands for itself and for what lies below it; a glob for what it matches.
fn globs(path: &str, sign: &str) -> Result<Vec<String>, ToolError> {
    let plain = from_root(path.trim_start_matches('!'))?;
    Ok(match plain {
        plain if plain.is_empty() => vec![format!("{sign}**")],
        plain if plain.contains(WILD) => vec![format!("{sign}{plain}")],
        plain => vec![format!("{sign}/{plain}"), format!("{sign}/{plain}/**")],
    })
}

/// The place that a path names, or the one that a glob looks below: its leading names without
/// wildcards.
fn start(path: &str) -> Result<SearchStart, ToolError> {
    let clean = from_root(path.trim_start_matches('!'))?;
    let is_glob = clean.contains(WILD);
    let fixed = clean.split('/').take_while(|name| !name.contains(WILD));
    let place = fixed.collect::<Vec<_>>().join("/");
    Ok(SearchStart {
        path: if place.is_empty() { ".".to_owned() } else { place },
        missing: if is_glob {
            MissingStart::PassedOver
        } else {
            MissingStart::Invalid("include_paths")
        },
    })
}

/// A path or glob without `.` and `..`; one that leaves the project is refused, though it would find
/// nothing there (FJ-SBX-01).
fn from_root(path: &str) -> Result<String, ToolError> {
    if path.starts_with('/') {
        return Err(ToolError::bad_args(format!("`{path}` must be relative to the project root")));
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.pop().is_none() => return Err(ToolError::outside(path)),
            ".." => {}
            name => names.push(name),
        }
    }
    Ok(names.join("/"))
}

pub(super) fn raise_search(found: SearchOutcome, room: usize) -> Result<Output, ToolError> {
    let of_file = |file: &FileHits| {
        let path = file.path.clone();
        let hits = file.lines.iter().flat_map(|line| line.hits.iter().map(move |hit| (line, hit)));
        hits.map(move |(line, hit)| found_at(&path, line, hit)).collect::<Vec<_>>()
    };
    Ok(Output::Json(Value::Array(within(found.files.iter().flat_map(of_file), room))))
}

/// `before`, `match_text` and `after` together are the line, or what is kept of it around the match.
fn found_at(path: &str, line: &FoundLine, hit: &Hit) -> Value {
    let (before, after) = match &hit.around {
        Some((before, after)) => (before.as_str(), after.as_str()),
        None => {
            let place = line.text.char_indices().nth(hit.column - 1);
            let start = place.map_or(line.text.len(), |(at, _)| at);
            let after = line.text.get(start + hit.text.len()..).unwrap_or_default();
            (&line.text[..start], after)
        }
    };
    let mut found = json!({
        "path": path, "line": line.number, "column": hit.column, "match_text": hit.text,
        "before": before, "after": after,
    });
    if line.is_cut {
        found["truncated"] = json!(true);
    }
    found
}
