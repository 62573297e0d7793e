//! Claude's own Agent call makes a worker.
