//! Errors of scripts, in the words that a person reads.

pub(super) const OUT_OF_MEMORY: &str = "out of memory: the script used more than it may";

/// An error of a script in its own words: no type, no stack of ours.
pub(super) fn plain_error(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => {
            return plain_error(cause);
        }
        mlua::Error::RuntimeError(message) | mlua::Error::SyntaxError { message, .. } => {
            message.clone()
        }
        mlua::Error::MemoryError(_) => OUT_OF_MEMORY.to_owned(),
        other => other.to_string(),
    };
    match text.split_once("\nstack traceback:") {
        Some((message, _)) => message.to_owned(),
        None => text,
    }
}
