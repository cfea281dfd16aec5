//! `jm models`: the models that are known, with context and price.

use anyhow::Result;
use jm_providers::ModelInfo;
use jm_types::text::one_line;
use serde_json::json;

use super::{exit, print};
use crate::cli::ModelsArgs;
use crate::model_client;

pub(crate) fn run(args: &ModelsArgs) -> Result<u8> {
    let catalogue = model_client::known()?;
    let aliases = catalogue.aliases();
    let words = args.search.as_deref().unwrap_or_default().to_lowercase();
    let rows: Vec<(String, &ModelInfo)> =
        catalogue.rows().filter(|(name, _)| name.to_lowercase().contains(&words)).collect();
    if args.json {
        for (name, info) in &rows {
            let price =
                info.price.map(|price| json!({"input": price.input, "output": price.output}));
            print::json(&json!({
                "model": name, "context": info.context, "output": info.output, "price": price,
            }))?;
        }
        return Ok(exit::RAN);
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
    print::line(&format!("{:<width$}  CONTEXT  $/M IN  $/M OUT", "MODEL"))?;
    for (name, info) in &rows {
        let context = info.context.map(tokens).unwrap_or_default();
        let (input, output) = match info.price {
            Some(price) => (format!("{:.2}", price.input), format!("{:.2}", price.output)),
            None => (String::new(), String::new()),
        };
        let line = format!("{:<width$}  {context:>7}  {input:>6}  {output:>7}", one_line(name));
        print::line(line.trim_end())?;
    }
    for (alias, name) in aliases {
        print::line(&format!("{} is {}", one_line(alias), one_line(name)))?;
    }
    print::line("Any other name works as PROVIDER/NAME; keys: `jm keys`")?;
    Ok(exit::RAN)
}

/// A number of tokens as people write it: `200k`, `1M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ if count.is_multiple_of(1_000_000) => format!("{}M", count / 1_000_000),
        _ => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}
