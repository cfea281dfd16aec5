//! The buffers of an editor that the person works with: files as they are on its screen, saved or not.
//!
//! Law: a file with unsaved changes is stale: nobody writes under what a person is typing. A buffer that is still as
//! the file was before our own write has nothing unsaved; it was only not read again yet.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jm_types::Digest;

/// A file as an editor has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorBuffer {
    /// The unsaved content.
    pub text: String,
    /// Why the editor says that the file must not be written, where it does.
    pub kept: Option<String>,
}

/// Reads a buffer: nothing where the editor has none, or why it cannot be known.
type BufferReader = dyn Fn(&Path) -> Result<Option<EditorBuffer>, String> + Send + Sync;

/// By default there is no editor.
#[derive(Clone, Default)]
pub struct EditorBuffers(Option<Arc<Shared>>);

struct Shared {
    read: Box<BufferReader>,
    /// Each file as it was when its buffer was last the same.
    known: Mutex<HashMap<PathBuf, Digest>>,
}

impl std::fmt::Debug for EditorBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EditorBuffers").field(&self.0.is_some()).finish()
    }
}

impl EditorBuffers {
    /// Buffers of an editor; `read` asks it for the text of a file, `None` for one that is not open.
    pub fn new(
        read: impl Fn(&Path) -> Result<Option<EditorBuffer>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(Shared { read: Box::new(read), known: Mutex::default() })))
    }

    /// Why a file with these bytes must not be written now.
    pub fn staleness(&self, path: &Path, saved: &[u8]) -> Option<String> {
        let shared = self.0.as_ref()?;
        let buffer = match (shared.read)(path) {
            Ok(buffer) => buffer?,
            Err(why) => return Some(format!("the editor does not say if it is saved: {why}")),
        };
        if buffer.kept.is_some() {
            return buffer.kept;
        }
        // A buffer holds text; for anything else there is nothing to compare.
        let (saved, buffer) = (normal(std::str::from_utf8(saved).ok()?), normal(&buffer.text));
        let mut known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = Digest::of(buffer.as_bytes());
        if buffer == saved {
            known.insert(path.to_owned(), digest);
            return None;
        }
        let is_unchanged = known.get(path) == Some(&digest);
        (!is_unchanged).then(|| "it has unsaved changes in the editor".to_owned())
    }
}

/// Editors keep line ends and byte order marks apart from the text.
fn normal(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_saved_is_stale() {
        let text = |text: &str| Ok(Some(EditorBuffer { text: text.to_owned(), kept: None }));
        let buffer = Arc::new(Mutex::new(text("a\nb\n")));
        let read = Arc::clone(&buffer);
        let buffers = EditorBuffers::new(move |_| read.lock().unwrap().clone());
        let staleness = |saved: &[u8]| buffers.staleness(Path::new("/f"), saved);
        let unsaved = Some("it has unsaved changes in the editor".to_owned());
        assert_eq!(staleness(b"\xef\xbb\xbfa\r\nb\r\n"), None);
        // Our own write, which the editor has not seen yet.
        assert_eq!(staleness(b"a\nc\n"), None);
        *buffer.lock().unwrap() = text("a\nb\nx\n");
        assert_eq!(staleness(b"a\nc\n"), unsaved);
        assert_eq!(staleness(b"\xff\xfe"), None);
        let kept = Some("it is read-only".to_owned());
        *buffer.lock().unwrap() =
            Ok(Some(EditorBuffer { text: String::new(), kept: kept.clone() }));
        assert_eq!(staleness(b"\xff\xfe"), kept);
        *buffer.lock().unwrap() = Ok(None);
        assert_eq!(staleness(b"a\nc\n"), None);
        *buffer.lock().unwrap() = Err("it is silent".to_owned());
        assert!(staleness(b"a\n").unwrap().contains("it is silent"));
        assert_eq!(EditorBuffers::default().staleness(Path::new("/f"), b"a"), None);
    }
}
