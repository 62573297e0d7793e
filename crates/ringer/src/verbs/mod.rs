//! One file per verb: its options, and what it does with them.

pub(crate) mod demo;
pub(crate) mod inbox;
pub(crate) mod members;
pub(crate) mod register;
pub(crate) mod remove;
pub(crate) mod send;
pub(crate) mod teams;
