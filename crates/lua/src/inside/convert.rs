//! JSON and Lua values, each made from the other.
//!
//! Law: a value that came as JSON goes back as the same JSON. A null in an object is a missing field, so
//! that `input.limit or 10` works; in a list it is `vim.NIL`, so that the list keeps its length.

use std::collections::BTreeMap;

use mlua::{Lua, Table, Value as Lvalue};
use serde_json::{Map, Value};

/// Deeper tables are taken for ones that contain themselves.
const DEEPEST: usize = 100;

/// The metatable of lists that came as JSON, so that an empty one stays a list.
struct ListMark(Table);

/// Must come before any conversion.
pub(super) fn prepare(lua: &Lua) -> mlua::Result<()> {
    lua.set_app_data(ListMark(lua.create_table()?));
    Ok(())
}

pub(super) fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<Lvalue> {
    Ok(match value {
        Value::Null => Lvalue::Nil,
        Value::Bool(truth) => Lvalue::Boolean(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Lvalue::Integer(integer),
            None => Lvalue::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Lvalue::String(lua.create_string(text)?),
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.iter().enumerate() {
                let item = if item.is_null() { Lvalue::NULL } else { to_lua(lua, item)? };
                table.raw_set(index + 1, item)?;
            }
            let mark = lua.app_data_ref::<ListMark>().map(|mark| mark.0.clone());
            table.set_metatable(mark)?;
            Lvalue::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, field) in fields.iter().filter(|(_, field)| !field.is_null()) {
                table.raw_set(name.as_str(), to_lua(lua, field)?)?;
            }
            Lvalue::Table(table)
        }
    })
}

/// The reason is for the author of the script.
pub(super) fn from_lua(lua: &Lua, value: &Lvalue) -> Result<Value, String> {
    let mark = lua.app_data_ref::<ListMark>().map(|mark| mark.0.clone());
    from_value(value, mark.as_ref(), DEEPEST)
}

fn from_value(value: &Lvalue, mark: Option<&Table>, depth: usize) -> Result<Value, String> {
    Ok(match value {
        Lvalue::Nil => Value::Null,
        Lvalue::Boolean(truth) => Value::Bool(*truth),
        Lvalue::Integer(integer) => Value::from(*integer),
        Lvalue::Number(number) => Value::from(*number),
        Lvalue::String(text) => Value::String(text.to_string_lossy()),
        Lvalue::Table(table) => match depth.checked_sub(1) {
            Some(depth) => from_table(table, mark, depth)?,
            None => return Err(format!("a table nested more than {DEEPEST} levels deep")),
        },
        null if null.is_null() => Value::Null,
        other => return Err(format!("a {} cannot be written as JSON", other.type_name())),
    })
}

fn from_table(table: &Table, mark: Option<&Table>, depth: usize) -> Result<Value, String> {
    let length = table.raw_len();
    let is_marked = mark.is_some() && table.metatable().as_ref() == mark;
    let plain = |error: mlua::Error| error.to_string();
    if is_marked || (length > 0 && has_only(table, length)) {
        let items = (1..=length).map(|index| {
            let item: Lvalue = table.raw_get(index).map_err(plain)?;
            from_value(&item, mark, depth)
        });
        return items.collect();
    }
    let mut fields = BTreeMap::new();
    for pair in table.pairs::<Lvalue, Lvalue>() {
        let (name, field) = pair.map_err(plain)?;
        let name = match name {
            Lvalue::String(name) => name.to_string_lossy(),
            Lvalue::Integer(number) => number.to_string(),
            other => return Err(format!("a {} as the name of a field", other.type_name())),
        };
        let converted = from_value(&field, mark, depth);
        fields.insert(name.clone(), converted.map_err(|why| format!("field `{name}`: {why}"))?);
    }
    // In alphabetical order, since a table has none of its own.
    Ok(Value::Object(fields.into_iter().collect::<Map<_, _>>()))
}

/// True if a table has no fields besides its list.
fn has_only(table: &Table, length: usize) -> bool {
    table.pairs::<Lvalue, Lvalue>().take(length + 1).count() == length
}

/// Keywords of JSON Schema whose value is a list; an empty table does not tell.
const SCHEMA_LISTS: &[&str] = &["required", "enum", "allOf", "anyOf", "oneOf", "prefixItems"];

/// Makes empty lists of the empty tables that can only be lists.
pub(super) fn mend_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_empty = field.as_object().is_some_and(Map::is_empty);
                if is_empty && SCHEMA_LISTS.contains(&name.as_str()) {
                    *field = Value::Array(Vec::new());
                } else {
                    mend_schema(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mend_schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lua() -> Lua {
        let lua = Lua::new();
        prepare(&lua).unwrap();
        lua
    }

    #[test]
    fn json_goes_through_lua_and_back() {
        let lua = lua();
        for value in [
            json!({"a": [1, 2.5, "x", true, null, [], {}], "b": {"c": -7}}),
            json!([]),
            json!("ü"),
            json!(9_007_199_254_740_993_i64),
            json!(null),
        ] {
            assert_eq!(from_lua(&lua, &to_lua(&lua, &value).unwrap()), Ok(value));
        }
        let without_null = to_lua(&lua, &json!({"a": null, "b": 1})).unwrap();
        assert_eq!(from_lua(&lua, &without_null), Ok(json!({"b": 1})));
    }

    #[test]
    fn tables_become_lists_or_objects() {
        let lua = lua();
        let cases = [
            ("{1, 2, 3}", Ok(json!([1, 2, 3]))),
            ("{}", Ok(json!({}))),
            ("{b = 1, a = {2}}", Ok(json!({"a": [2], "b": 1}))),
            ("{1, named = 2}", Ok(json!({"1": 1, "named": 2}))),
            ("{[10] = 1}", Ok(json!({"10": 1}))),
            ("{f = print}", Err("field `f`: a function cannot be written as JSON")),
            ("{[true] = 1}", Err("a boolean as the name of a field")),
            ("0/0", Ok(json!(null))),
        ];
        for (text, expected) in cases {
            let value: Lvalue = lua.load(text).eval().unwrap();
            assert_eq!(from_lua(&lua, &value), expected.map_err(str::to_owned), "{text}");
        }
        let cycle: Lvalue = lua.load("local t = {} t.t = t return t").eval().unwrap();
        assert!(from_lua(&lua, &cycle).unwrap_err().contains("nested more than 100"));
    }

    #[test]
    fn empty_lists_of_a_schema_are_lists() {
        let mut schema = json!({"properties": {}, "required": {}, "items": {"enum": {}}});
        mend_schema(&mut schema);
        assert_eq!(schema, json!({"properties": {}, "required": [], "items": {"enum": []}}));
    }
}
