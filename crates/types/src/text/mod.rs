//! Pure functions on text: what may be shown, how much of it, and what must be hidden.
//!
//! Law: nothing here touches disk, clock or environment, and everything is linear in its input.

pub mod credentials;
pub mod fence;
pub mod foreign_text;
pub mod json_length;
pub mod one_line;
pub mod quoting;
pub mod redact;
pub mod sanitize;
pub mod suggest;
pub mod terminal_lines;
pub mod truncate;
pub mod utf8;
pub mod visible_text;

pub use credentials::mask_credentials;
pub use fence::{Fence, fence_for};
pub use foreign_text::words_with_look_alikes;
pub use json_length::json_length;
pub use one_line::{Summary, one_line, summarize};
pub use quoting::quoted_words;
pub use redact::{Redactor, looks_like_secret, redact, redact_command};
pub use sanitize::{Sanitizer, is_terminal_safe, sanitize};
pub use suggest::suggest;
pub use terminal_lines::Settler;
pub use truncate::{HeadTail, head_and_tail, head_and_tail_naming, truncate};
pub use utf8::Utf8Stream;
pub use visible_text::reveal;
