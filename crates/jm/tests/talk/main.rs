//! Conversations with a model, whole: the real program, a scripted model over real HTTP, all wires.
//!
//! Law: whatever happens to a turn, the program ends in a defined way, no call runs that was not
//! whole, none runs twice, and the next prompt is understood. The script's server judges every
//! request as its vendor would, so a history that a vendor would refuse fails here.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod cuts;
mod desk;
mod documents;
mod documents_in_editors;
mod faults;
mod floods;
mod full;
mod interrupts;
mod keys;
mod kills;
mod limits;
mod modes;
mod plan;
mod streams;
mod supplied;
mod terminal;
mod wires;
