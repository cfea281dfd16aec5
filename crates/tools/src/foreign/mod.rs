//! Tools that others wrote.
//!
//! Law: what comes from outside is checked before it is offered and contained when it runs; a bad
//! one harms no other.

pub mod external;
