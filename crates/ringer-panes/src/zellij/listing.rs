//! What `list-panes` says of a pane.
//!
//! Owns reading it. A pane that is not in the list is not there, whatever any other command says.

use serde::Deserialize;

use crate::fault::Fault;

/// A pane, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "as Zellij prints it")]
pub(super) struct Listed {
    id: u32,
    is_plugin: bool,
    exited: bool,
    is_held: bool,
    is_suppressed: bool,
    #[serde(default)]
    pub(super) title: String,
    /// What it was opened with; nothing if that was just a shell.
    #[serde(default)]
    terminal_command: Option<String>,
    pane_x: usize,
    pane_y: usize,
    pane_content_x: usize,
    pane_content_y: usize,
    /// How many rows the program has.
    #[serde(rename = "pane_content_rows")]
    pub(super) rows: usize,
    /// Column and row, counted from the pane's frame; nothing if the program hides it.
    #[serde(default)]
    cursor_coordinates_in_pane: Option<(usize, usize)>,
}

impl Listed {
    /// All panes; `None` if what was printed is no list of panes.
    pub(super) fn all(printed: &[u8]) -> Option<Vec<Self>> {
        serde_json::from_slice(printed).ok()
    }

    /// Whether it is the terminal pane with this number: plugins have the same ones.
    pub(super) fn is_terminal(&self, id: u32) -> bool {
        self.id == id && !self.is_plugin
    }

    /// Whether its program has ended, or was not started yet: Enter would start it.
    pub(super) fn is_dead(&self) -> bool {
        self.exited || self.is_held
    }

    /// Why nothing may be typed into it.
    pub(super) fn blocked(&self, pane: &str) -> Option<Fault> {
        let pane = pane.to_owned();
        match self {
            dead if dead.is_dead() => Some(Fault::Dead { pane }),
            // Another one is in its place; mostly the editor with what scrolled away.
            away if away.is_suppressed => Some(Fault::CopyMode { pane }),
            _ => None,
        }
    }

    /// Row and column of the cursor, counted from where the program's own rows begin.
    pub(super) fn cursor(&self) -> Option<(usize, usize)> {
        let (x, y) = self.cursor_coordinates_in_pane?;
        let left = self.pane_content_x.saturating_sub(self.pane_x);
        let top = self.pane_content_y.saturating_sub(self.pane_y);
        Some((y.checked_sub(top)?, x.checked_sub(left)?))
    }

    /// What it was opened with.
    pub(super) fn started_with(&self) -> &str {
        self.terminal_command.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Zellij 0.45.1 prints it, but for fields that are not read.
    fn printed(id: u32, plugin: bool, more: &str) -> String {
        format!(
            r#"{{"id": {id}, "is_plugin": {plugin}, "exited": false, "exit_status": null,
            "is_held": false, "is_suppressed": false, "title": "✦", "terminal_command": null,
            "pane_x": 50, "pane_y": 1, "pane_content_x": 51, "pane_content_y": 2,
            "pane_rows": 48, "pane_content_rows": 46, "index_in_pane_group": {{}},
            "cursor_coordinates_in_pane": [10, 46]{more}}}"#
        )
    }

    #[test]
    fn a_terminal_pane_is_told_from_a_plugin_with_the_same_number() {
        let all = format!("[{}, {}]", printed(1, true, ""), printed(1, false, r#", "x": 1"#));
        let all = Listed::all(all.as_bytes()).unwrap();
        assert_eq!(all.iter().map(|pane| pane.is_terminal(1)).collect::<Vec<_>>(), [false, true]);
        let pane = &all[1];
        assert_eq!((pane.title.as_str(), pane.started_with()), ("✦", ""));
        assert_eq!((pane.cursor(), pane.rows, pane.blocked("x")), (Some((45, 9)), 46, None));
        assert!(Listed::all(b"[]").unwrap().is_empty());
        for answer in ["", "PANE_ID  TYPE", "[{}]", "{}"] {
            assert!(Listed::all(answer.as_bytes()).is_none(), "{answer}");
        }
    }

    #[test]
    fn a_pane_that_swallows_text_says_why() {
        let all = format!("[{}]", printed(3, false, ""));
        for (was, is, reason) in [
            (r#""exited": false"#, r#""exited": true"#, "pane dead"),
            (r#""is_held": false"#, r#""is_held": true"#, "pane dead"),
            (r#""is_suppressed": false"#, r#""is_suppressed": true"#, "copy mode"),
        ] {
            let all = Listed::all(all.replace(was, is).as_bytes()).unwrap();
            assert_eq!(all[0].blocked("terminal_3").unwrap().reason(), reason);
        }
    }
}
