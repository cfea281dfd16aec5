//! The judgement that a program only reads, by its name and its options.

mod git;
mod programs;
mod readers;
mod scripts;

pub(crate) use programs::danger_of_program;
