//! Spans of the engine's steps on standard error, for whoever sets `JM_LOG` (tracing).
//!
//! Law: without `JM_LOG` nothing is installed, so a span costs one check. A span names calls, tools and models,
//! never what a call says.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::faces::print;
use crate::locations;

/// Installs the subscriber that `JM_LOG` asks for, in the words of `RUST_LOG`: a level, or `TARGET=LEVEL,…`.
pub(crate) fn install() {
    let Some(wanted) = locations::named("JM_LOG") else { return };
    let filter = match EnvFilter::try_new(wanted.to_string_lossy()) {
        Ok(filter) => filter,
        Err(error) => {
            print::note(&format!("JM_LOG: {error}\n  hint: such as `info` or `jm_engine=debug`"));
            return;
        }
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .finish();
    // Only the first subscriber counts, and there is no other.
    tracing::subscriber::set_global_default(subscriber).unwrap_or_default();
}
