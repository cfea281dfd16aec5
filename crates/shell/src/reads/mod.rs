//! The judgement that a program only reads, by its name and its options.

mod git;
mod programs;
mod readers;
mod scripts;

pub(crate) use programs::danger_of_program;
pub(crate) use readers::reader_options;
pub(crate) use scripts::{danger_of_awk, danger_of_sed};
