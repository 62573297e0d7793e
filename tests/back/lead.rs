//! A lead with hooks: what it hears, and when.
