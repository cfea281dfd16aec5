//! A model that follows a script, served over real HTTP in any vendor's language.
//!
//! Law: a request that the vendor would refuse is refused here too, so that a test which passes
//! says something about the vendor.

mod check;
mod deliver;
mod script;
mod server;
mod speak;

pub use script::Script;
pub use server::Server;

use jm_types::Digest;

/// The signature that the script's model puts on what must come back unchanged. It is Base64, as a
/// vendor's client expects.
fn sign(text: &str) -> String {
    format!("sign{}", Digest::of(text.as_bytes()))
}
