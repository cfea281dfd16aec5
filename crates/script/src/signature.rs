//! The signature that the script's model puts on what must come back unchanged.

use jm_types::Digest;

/// Base64, as a vendor's own client expects.
pub(crate) fn sign(text: &str) -> String {
    format!("sign{}", Digest::of(text.as_bytes()))
}
