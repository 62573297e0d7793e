//! Real agents to be workers, each on a scripted model of its own.
//!
//! Owns what they need to start at their prompt at once: a home of their own in which every question
//! is settled, and no way to the internet. In which terminal they run is for the test to say.

mod claude;
mod codex;
mod gemini;
mod home;
mod offline;
mod opencode;

use std::path::PathBuf;

use crate::model::Model;

use home::Home;

pub(crate) use claude::{environment, settle};

/// An agent that is ready to be started. All that it has started by then ends with this.
#[derive(Debug)]
pub struct Agent {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// Before the model, so that no agent outlives its model.
    _home: Home,
    /// The model behind it.
    pub model: Model,
}
