//! Names of members and teams, and how they become file names.
//!
//! Owns every check that stands between a name from outside and a path. A name is never joined to
//! a path before it has been here.

use crate::error::{Error, Result};

/// The lead's name on every team.
pub const LEAD: &str = "team-lead";

/// How the directory of a team ends until it is whole. It begins with a dot.
pub(crate) const HALF_FOUNDED: &str = ".founding";

/// The file name (without `.json`) of a member's inbox: Claude Code turns every character outside
/// `[A-Za-z0-9_-]` into `-`.
///
/// ```
/// assert_eq!(ringer_teams::inbox_file_name("odd.name"), "odd-name");
/// ```
pub fn inbox_file_name(name: &str) -> String {
    // Claude Code counts UTF-16 units: a character outside the basic plane gives two dashes.
    let dashes = |c: char| std::iter::repeat_n('-', c.len_utf16());
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if plain(c) {
            out.push(c);
        } else {
            out.extend(dashes(c));
        }
    }
    out
}

/// Checks the name of a member that Ringer adds: `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`, not the lead's.
///
/// ```
/// assert!(ringer_teams::check_member_name("rust-impl").is_ok());
/// assert!(ringer_teams::check_member_name("../config").is_err());
/// ```
pub fn check_member_name(name: &str) -> Result<()> {
    let invalid = |reason: &str| Error::InvalidName { name: name.into(), reason: reason.into() };
    if name.is_empty() {
        return Err(invalid("it is empty"));
    }
    if name == LEAD {
        return Err(invalid("it is the lead's own"));
    }
    if name.len() > 64 {
        return Err(invalid("it is longer than 64 characters"));
    }
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(invalid("it must begin with an ASCII letter or a digit"));
    }
    if inbox_file_name(name) != name {
        return Err(invalid("only ASCII letters, digits, `-` and `_` can be in it"));
    }
    Ok(())
}

/// Checks the name of a team that Ringer founds: `^[a-z0-9][a-z0-9-]{0,99}$`. Claude Code would give
/// its directory the same name.
pub(crate) fn check_own_team_name(name: &str) -> Result<()> {
    let invalid = |reason: &str| Error::InvalidName { name: name.into(), reason: reason.into() };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() {
        return Err(invalid("a team's name cannot be empty"));
    }
    if name.len() > 100 {
        return Err(invalid("a team's name is at most 100 characters long"));
    }
    if name.starts_with('-') {
        return Err(invalid("a team's name cannot begin with `-`"));
    }
    if !name.chars().all(plain) {
        return Err(invalid(
            "only lower case ASCII letters, digits and `-` can be in a team's name",
        ));
    }
    Ok(())
}

/// Checks a team's name before it is looked up: one plain path component.
pub(crate) fn check_team_name(name: &str) -> Result<()> {
    let invalid = |reason: &str| Error::InvalidName { name: name.into(), reason: reason.into() };
    if name.is_empty() {
        return Err(invalid("a team's name cannot be empty"));
    }
    if name.len() > 255 {
        return Err(invalid("a team's name is at most 255 bytes long"));
    }
    if name.contains(['/', '\\', '\0']) || name == "." || name == ".." {
        return Err(invalid("a team is a name, not a path"));
    }
    Ok(())
}

/// Whether a directory under `teams/` is what a deleted team leaves behind for a moment.
pub(crate) fn is_half_deleted(dir_name: &str) -> bool {
    dir_name.contains(".deleted-")
}

/// Whether a directory under `teams/` is a team that is not founded yet.
pub(crate) fn is_half_founded(dir_name: &str) -> bool {
    dir_name.starts_with('.') && dir_name.ends_with(HALF_FOUNDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inbox_files_are_named_as_claude_code_names_them() {
        for (name, file) in [
            ("rust-impl", "rust-impl"),
            ("odd.name", "odd-name"),
            ("Ünder_score", "-nder_score"),
            ("../../etc", "------etc"),
            ("a b", "a-b"),
            ("😀", "--"),
        ] {
            assert_eq!(inbox_file_name(name), file, "{name}");
        }
    }

    #[test]
    fn only_plain_names_are_given_to_synthetic_members() {
        for good in ["a", "0", "rust-impl", "A_b-9", &"x".repeat(64)] {
            check_member_name(good).unwrap();
        }
        let bad = ["", "team-lead", "-a", "_a", "a.b", "a b", "é", "a/b", "a\0", &"x".repeat(65)];
        for bad in bad {
            assert_eq!(check_member_name(bad).unwrap_err().code(), "invalid_name", "{bad}");
        }
    }

    #[test]
    fn only_plain_names_are_given_to_teams_of_our_own() {
        for good in ["a", "0-", "exo-root", &"x".repeat(100)] {
            check_own_team_name(good).unwrap();
        }
        let bad = ["", "-a", "A", "a.b", "a_b", "a b", "é", "..", "a/b", "a\0", &"x".repeat(101)];
        for bad in bad {
            assert_eq!(check_own_team_name(bad).unwrap_err().code(), "invalid_name", "{bad}");
        }
    }

    #[test]
    fn a_team_name_is_never_a_path() {
        for bad in ["", ".", "..", "../x", "a/b", "/etc", "a\0b", &"x".repeat(256)] {
            assert_eq!(check_team_name(bad).unwrap_err().code(), "invalid_name", "{bad}");
        }
        check_team_name("exo-main.feature_A").unwrap();
    }
}
