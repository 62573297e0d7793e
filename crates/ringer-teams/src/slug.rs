//! Names made from other text: of members, and of the teams and branches of a tree of agents.
//!
//! Owns the convention. Pure: looks at nothing but the text it is given.
//!
//! An agent on branch `main` has the team `exo-main`. What it splits off as `feature-a` works on the
//! branch `main.feature-a`, and has the team `exo-main.feature-a` in turn.

use crate::names::LEAD;

/// The longest name that a member can have.
const LONGEST: usize = 64;

/// What a name is made of when the text has nothing to make one from.
const NAMELESS: &str = "agent";

/// Where a tree begins that has no branch.
const ROOT: &str = "root";

/// A member's name made from any text. [`check_member_name`](crate::check_member_name) takes it, and
/// made into a name again it stays as it is.
///
/// ```
/// assert_eq!(ringer_teams::slug("Fix the *parser*!"), "fix-the-parser");
/// assert_eq!(ringer_teams::slug("…"), "agent");
/// ```
pub fn slug(text: &str) -> String {
    let mut name = String::with_capacity(text.len().min(LONGEST));
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        if name.len() >= LONGEST {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(word);
    }
    name.make_ascii_lowercase();
    name.truncate(LONGEST);
    name.truncate(name.trim_end_matches('-').len());
    match name.as_str() {
        "" => NAMELESS.to_owned(),
        LEAD => format!("{NAMELESS}-{LEAD}"),
        _ => name,
    }
}

/// The name of the team of an agent on that branch.
///
/// ```
/// use ringer_teams::team_name;
/// assert_eq!(team_name(Some("main.feature-a")), "exo-main.feature-a");
/// assert_eq!(team_name(None), "exo-root");
/// ```
pub fn team_name(branch: Option<&str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let branch = branch.unwrap_or(ROOT).chars().map(|c| if plain(c) { c } else { '-' });
    "exo-".chars().chain(branch).collect()
}

/// The branch of what an agent on `branch` splits off under this slug.
///
/// ```
/// use ringer_teams::subtree_branch;
/// assert_eq!(subtree_branch(Some("main"), "feature-a"), "main.feature-a");
/// assert_eq!(subtree_branch(None, "feature-a"), "root.feature-a");
/// ```
pub fn subtree_branch(branch: Option<&str>, slug: &str) -> String {
    format!("{}.{slug}", branch.unwrap_or(ROOT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{check_member_name, check_team_name};
    use proptest::prelude::*;

    #[test]
    fn names_are_made_from_words() {
        let long = format!("{}-b", "a".repeat(63));
        for (text, name) in [
            ("Fix the Parser", "fix-the-parser"),
            ("--a__b//c  ", "a-b-c"),
            ("déjà vu", "d-j-vu"),
            ("", "agent"),
            ("日本", "agent"),
            ("Team Lead", "agent-team-lead"),
            ("team-leader", "team-leader"),
            (&"x".repeat(70), &"x".repeat(64)),
            (&long, &"a".repeat(63)),
        ] {
            assert_eq!(slug(text), name, "{text}");
        }
    }

    #[test]
    fn a_branch_becomes_one_plain_part_of_a_path() {
        for (branch, name) in [
            (Some("main"), "exo-main"),
            (Some("feat/A_1.x"), "exo-feat-A_1.x"),
            (Some("../é b"), "exo-..---b"),
            (None, "exo-root"),
        ] {
            assert_eq!(team_name(branch), name);
        }
        assert_eq!(team_name(Some(&subtree_branch(None, "a"))), "exo-root.a");
        assert_eq!(subtree_branch(Some("feat/x"), "a"), "feat/x.a");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_slug_is_always_a_name_and_stays_as_it_is(
            text in prop_oneof![any::<String>(), "[-_ A-Za-z0-9é]{0,90}", "[-a]{60,70}", "(?i)-*team[- ]lead.?"],
        ) {
            let name = slug(&text);
            prop_assert!(check_member_name(&name).is_ok(), "{name}");
            prop_assert_eq!(&name, &name.to_ascii_lowercase());
            prop_assert_eq!(slug(&name), name);
        }

        #[test]
        fn a_teams_name_is_never_a_path(branch in "\\PC{0,60}") {
            prop_assert!(check_team_name(&team_name(Some(&branch))).is_ok());
        }
    }
}
