//! JSON Schemas derived from argument structs, for tools that no document describes (NFR-MAIN-01).
//!
//! Law: a derived schema says to a model what a written one would: names, types, bounds and the doc
//! comments of the fields, and nothing that only a generator needs.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The order in which a schema is read.
const ORDER: [&str; 10] = [
    "type",
    "description",
    "enum",
    "items",
    "properties",
    "minimum",
    "maximum",
    "minItems",
    "required",
    "additionalProperties",
];

/// The schema of an argument struct.
pub(crate) fn derived<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<A>();
    let mut value = plain(schema.to_value());
    // What the struct is for is said by the tool's own description.
    if let Some(root) = value.as_object_mut() {
        root.shift_remove("description");
    }
    value
}

/// A schema without titles, formats and nulls: an argument that may be missing is not required, which
/// says all. A model need not be told twice, and not every vendor takes two types.
fn plain(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    for noise in ["$schema", "title", "format", "default"] {
        fields.shift_remove(noise);
    }
    if let Some(Value::Array(options)) = fields.shift_remove("anyOf") {
        let described = fields.shift_remove("description");
        let own = options.into_iter().find(|option| option["type"] != "null");
        fields.extend(own.and_then(|own| own.as_object().cloned()).unwrap_or_default());
        fields.extend(described.map(|words| ("description".to_owned(), words)));
        return plain(Value::Object(fields));
    }
    if let Some(Value::Array(types)) = fields.get("type") {
        let own = types.iter().find(|one| *one != "null").cloned();
        fields.insert("type".to_owned(), own.unwrap_or(Value::Null));
    }
    if let Some(Value::Array(words)) = fields.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(items) = fields.get_mut("items") {
        *items = plain(items.take());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = plain(property.take()));
    }
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
    fields.sort_by_key(|(name, _)| place(name));
    Value::Object(Map::from_iter(fields))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::toolsets::row::SchemaOf;
    use crate::toolsets::{Row, Toolset, dialect_of};

    fn rows() -> impl Iterator<Item = (Toolset, &'static Row)> {
        let of = |toolset: Toolset| dialect_of(toolset).rows.iter().map(move |row| (toolset, row));
        Toolset::ALL.iter().copied().flat_map(of)
    }

    /// What models are shown is looked at by people: a struct that changes shows in these files.
    #[test]
    fn derived_schemas_are_the_reviewed_ones() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/toolsets/schemas/standard");
        let mut seen = Vec::new();
        for (_, row) in rows().filter(|(_, row)| matches!(row.schema, SchemaOf::Struct(_))) {
            let file = format!("{folder}/{}.json", row.name);
            let reviewed = std::fs::read_to_string(&file).unwrap();
            let derived = serde_json::to_string_pretty(&row.schema.value().unwrap()).unwrap();
            assert_eq!(derived, reviewed.trim_end(), "{file}");
            seen.push(row.name);
        }
        let own = ["edit_file", "glob", "process", "multi_edit", "search", "start_process"];
        assert_eq!(seen, [&own[..], &["write_file"]].concat());
    }

    /// NFR-MAIN-01, FR-REG-02: every property of a schema is an argument of its tool's struct, of that
    /// type, and what a schema requires is all that the struct requires.
    #[test]
    fn schemas_and_structs_name_the_same_arguments() {
        for (toolset, row) in rows() {
            let schema = row.schema.value().unwrap();
            let properties = schema["properties"].as_object().unwrap();
            let required: Vec<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|v| v.as_str())
                .collect();
            let needed: Vec<_> = required
                .iter()
                .map(|name| ((*name).to_owned(), sample(&properties[*name])))
                .collect();
            for (name, property) in properties {
                let mut args = serde_json::Map::from_iter(needed.clone());
                args.insert(name.clone(), sample(property));
                let lowered = (row.lower)(args.into(), &jm_types::Limits::default());
                let said = lowered.err().map(|error| error.to_string()).unwrap_or_default();
                let unfit = ["unknown field", "missing field", "invalid type", "unknown variant"];
                let is_unfit = unfit.iter().any(|words| said.contains(words));
                assert!(!is_unfit, "{} {}: {name}: {said}", toolset.name(), row.name);
            }
        }
    }

    /// Something that fits.
    fn sample(schema: &serde_json::Value) -> serde_json::Value {
        if let Some(word) = schema["enum"].as_array().and_then(|words| words.first()) {
            return word.clone();
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
        match kind {
            Some("string") => json!("p1"),
            Some("boolean") => json!(true),
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
            Some("array") => json!([sample(&schema["items"])]),
            _ => {
                let properties = schema["properties"].as_object().into_iter().flatten();
                properties.map(|(name, one)| (name.clone(), sample(one))).collect()
            }
        }
    }
}
