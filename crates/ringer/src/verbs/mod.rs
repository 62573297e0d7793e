//! One file per verb: its options, and what it does with them.

pub(crate) mod answer;
pub(crate) mod attach;
pub(crate) mod daemon;
pub(crate) mod demo;
pub(crate) mod down;
pub(crate) mod hook;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod members;
pub(crate) mod profiles;
pub(crate) mod register;
pub(crate) mod remove;
pub(crate) mod reply;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod teammate;
pub(crate) mod teams;
pub(crate) mod up;
