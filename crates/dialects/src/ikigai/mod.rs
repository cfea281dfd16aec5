//! `ikigai`: six tools that are also programs, each with its own small JSON (IK-BASH, IK-READ,
//! IK-WRITE, IK-EDIT, IK-GLOB, IK-GREP).

mod envelope;
mod manual_run;
pub mod program;
mod tools;

pub use tools::IKIGAI;
