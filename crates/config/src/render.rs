//! The configuration for people and for programs.
//!
//! Law: what is rendered loads again to the same configuration.

use serde_json::{Map, Value, json};

use crate::keys::{ConfigKey, KEYS};
use crate::load_outcome::Loaded;
use crate::origin::SettingOrigin;
use crate::settings::Config;

/// Every key with its value, and who set it as a comment, in TOML.
pub fn render(loaded: &Loaded) -> String {
    let config = values(&loaded.config);
    let mut text = String::new();
    let mut open = "";
    for key in KEYS {
        let (table, name) = key.place();
        if table != open {
            text.push_str(&format!("\n[{table}]\n"));
            open = table;
        }
        let value = toml(&config, key);
        text.push_str(&format!("{name} = {value} # {}\n", origins(loaded, key)));
    }
    text
}

/// One key, or those below it, each on a line with its source; `None` when there is none.
pub fn render_keys(loaded: &Loaded, path: &str) -> Option<String> {
    let config = values(&loaded.config);
    let below = format!("{path}.");
    let chosen = KEYS.iter().filter(|key| key.path == path || key.path.starts_with(&below));
    let lines = chosen
        .map(|key| format!("{} = {} # {}\n", key.path, toml(&config, key), origins(loaded, key)));
    Some(lines.collect::<String>()).filter(|text| !text.is_empty())
}

/// The same for programs: `config` has the shape of the file, `sources` goes by the keys' paths.
pub fn render_json(loaded: &Loaded) -> Value {
    let sources: Map<String, Value> =
        KEYS.iter().map(|key| (key.path.to_owned(), origins(loaded, key).into())).collect();
    json!({
        "config": values(&loaded.config),
        "sources": sources,
        "warnings": loaded.warnings,
    })
}

/// Every key with what it accepts, its default and its meaning, as a Markdown table.
pub fn reference() -> String {
    let defaults = values(&Config::default());
    let mut text = String::from(
        "| key | accepts | default | an untrusted project may | meaning |\n\
         |---|---|---|---|---|\n",
    );
    for key in KEYS {
        text.push_str(&format!(
            "| `{}` | {} | `{}` | {} | {} |\n",
            key.path,
            key.accepts(),
            toml(&defaults, key),
            key.project_may(),
            key.help,
        ));
    }
    text
}

fn origins(loaded: &Loaded, key: &ConfigKey) -> String {
    let origins = loaded.provenance.get(key.path).map(Vec::as_slice).unwrap_or_default();
    origins.iter().map(SettingOrigin::to_string).collect::<Vec<_>>().join(", ")
}

// Serialising fails only for maps whose keys are no strings, and there are none.
fn values(config: &Config) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

fn toml(config: &Value, key: &ConfigKey) -> String {
    let pointer = format!("/{}", key.path.replace('.', "/"));
    written(config.pointer(&pointer).unwrap_or_default())
}

/// A JSON value as TOML in one line.
fn written(value: &Value) -> String {
    match value {
        // TOML has no null, so nothing that was read from it has one either.
        Value::Null => "\"\"".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(entries) => {
            format!("[{}]", entries.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| format!("{} = {}", quoted(name), written(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

// JSON's escapes are TOML's, but for DEL, which JSON leaves bare.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{SAMPLE, loaded, project, user};
    use crate::{ConfigLayer, Source, Trust};

    const ODD: &str = r#"
        [tools]
        definitions = [{ name = "odd \"name\"", description = "\u007f\u0001\n\tü", parameters = {
            "a b" = [1, -2.5, 1e300, true, [], {}], "" = "x", sub.key = 0x10
        } }]
        sandbox.allowed_roots = ["C:\\odd", "it's"]
    "#;

    #[test]
    fn what_is_rendered_loads_again() {
        let odd_path = ConfigLayer {
            source: Source::User("a\nprofile = 1\u{1b}.toml".into()),
            text: "profile = 'careful'".to_owned(),
        };
        let cases: &[&[ConfigLayer]] = &[
            &[],
            &[user(SAMPLE)],
            &[user(ODD)],
            &[odd_path],
            &[user("tools.approval.denylist = []"), project("tools.environment.denylist = ['X']")],
        ];
        for layers in cases {
            let first = loaded(layers, &[], Trust::Trusted);
            let text = render(&first);
            let second = loaded(&[user(&text)], &[], Trust::Trusted);
            assert_eq!(second.config, first.config, "{text}");
        }
    }

    #[test]
    fn every_key_is_rendered_with_its_source() {
        let layers = [user("profile = 'careful'\n[tools.sandbox]\ndenied_patterns = ['x']")];
        let found = loaded(&layers, &[], Trust::Trusted);
        let text = render(&found);
        for line in [
            "toolset = \"standard\" # default\n",
            "profile = \"careful\" # config.toml:1:1\n",
            "\n[tools]\nmode = \"enabled\" # default\n",
            "max_tool_calls_per_batch = 8 # config.toml:1:1\n",
            "denied_patterns = [\"x\"] # default, config.toml:3:1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert_eq!(text.matches(" = ").count(), KEYS.len());
    }

    #[test]
    fn programs_get_values_sources_and_warnings() {
        let layers = [project("tools.sandbox.allow_absolute = true\ntools.mode = 'disabled'")];
        let found = render_json(&loaded(&layers, &[], Trust::Untrusted));
        for (pointer, expected) in [
            ("/config/tools/mode", json!("disabled")),
            ("/sources/tools.mode", json!(".journeyman/config.toml:2:7")),
            ("/sources/tools.sandbox.allow_absolute", json!("default")),
        ] {
            assert_eq!(found.pointer(pointer), Some(&expected), "{pointer}");
        }
        assert_eq!(found["warnings"].as_array().map(Vec::len), Some(1));
    }

    /// So that no key of the table, and no field of the configuration, stands alone.
    #[test]
    fn the_table_and_the_configuration_have_the_same_keys() {
        fn paths(prefix: &str, value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(fields) if !fields.is_empty() => {
                    for (name, value) in fields {
                        paths(&format!("{prefix}.{name}"), value, found);
                    }
                }
                _ => found.push(prefix.trim_start_matches('.').to_owned()),
            }
        }
        let mut found = Vec::new();
        paths("", &values(&Config::default()), &mut found);
        assert_eq!(found, KEYS.iter().map(|key| key.path).collect::<Vec<_>>());
    }

    #[test]
    fn the_reference_has_a_row_for_each_key() {
        let text = reference();
        assert_eq!(text.lines().count(), KEYS.len() + 2);
        for row in [
            "| `tools.approval.mode` | `auto`, `effects`, `prompt`, `deny` | `\"prompt\"` | set only a stricter value \
             | `auto` runs what is not denied, `effects` runs commands on a layer and asks which changes to keep, `prompt` asks, `deny` runs only the allowlist |\n",
            "| `tools.output.max_bytes` | whole number, 1 to 1073741824 | `102400` | lower it | \
             bytes of one result |\n",
        ] {
            assert!(text.contains(row), "{row} in {text}");
        }
    }
}
