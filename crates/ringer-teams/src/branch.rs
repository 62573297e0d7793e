//! The git branch that a directory is on.
//!
//! Owns reading git's files for it. Runs no git: it may not be installed, and it would run what the
//! repository's configuration tells it to. Never writes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// No line that is looked for here is longer.
const LONGEST: u64 = 8192;

/// How many digits stand for a commit.
const DIGITS: usize = 8;

/// The branch that the repository around `dir` is on, or the first digits of the commit if it is on
/// none. `None` outside a repository, and where git's files are not understood.
pub fn birth_branch(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    let is_git = |git: &PathBuf| git.is_file() || git.join("HEAD").is_file();
    let git = dir.ancestors().map(|dir| dir.join(".git")).find(is_git)?;
    let head = first_line(&git_dir(git)?.join("HEAD"))?;
    let Some(target) = head.strip_prefix("ref:") else {
        let commit = head.len() >= DIGITS && head.bytes().all(|b| b.is_ascii_hexdigit());
        return commit.then(|| head[..DIGITS].to_owned());
    };
    let branch = target.trim_start().strip_prefix("refs/heads/")?;
    // With reftables the branch is elsewhere, and this name, which no branch can have, in its place.
    (!branch.is_empty() && branch != ".invalid").then(|| branch.to_owned())
}

/// The directory behind a `.git`. In a worktree or a submodule that is a file, which says where.
fn git_dir(git: PathBuf) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git);
    }
    let line = first_line(&git)?;
    let named = line.strip_prefix("gitdir:")?.trim_start();
    Some(git.parent()?.join(named))
}

fn first_line(path: &Path) -> Option<String> {
    // A pipe would never end.
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringer_testkit::{command, put};
    use std::fs;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A directory with a repository in `repo`, whose HEAD has this text.
    fn world(head: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        fs::create_dir_all(dir.path().join("repo/src/deep")).unwrap();
        put(&dir.path().join("repo/.git/HEAD"), head);
        dir
    }

    #[test]
    fn a_branch_is_read_from_anywhere_in_its_repository() {
        for (head, branch) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/feat/a.b", Some("feat/a.b")),
            (&format!("{COMMIT}\n"), Some("01234567")),
            ("ref: refs/heads/.invalid\n", None),
            ("ref: refs/heads/\n", None),
            ("ref: refs/tags/v1\n", None),
            ("0123\n", None),
            ("näßßßßßß\n", None),
            ("", None),
        ] {
            let dir = world(head);
            for place in ["repo", "repo/src/deep", "repo/.git"] {
                let found = birth_branch(&dir.path().join(place));
                assert_eq!(found.as_deref(), branch, "{head} in {place}");
            }
        }
    }

    #[test]
    fn a_worktree_has_a_branch_of_its_own() {
        let dir = world("ref: refs/heads/main\n");
        let own = dir.path().join("repo/.git/worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        put(&own.join("HEAD"), "ref: refs/heads/main.feature-a\n");
        // Worktrees often lie inside the repository that they belong to.
        let tree = dir.path().join("repo/tree");
        fs::create_dir_all(tree.join("src")).unwrap();
        for gitdir in [own.to_str().unwrap(), "../.git/worktrees/tree"] {
            put(&tree.join(".git"), &format!("gitdir: {gitdir}\n"));
            assert_eq!(birth_branch(&tree.join("src")).as_deref(), Some("main.feature-a"));
        }
        put(&tree.join(".git"), "gitdir: /nowhere\n");
        assert_eq!(birth_branch(&tree), None, "not the branch of the repository around it");
    }

    #[test]
    fn outside_a_repository_there_is_no_branch() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(birth_branch(dir.path()), None);
        assert_eq!(birth_branch(&dir.path().join("nowhere")), None);
        let dir = world("ref: refs/heads/main\n");
        fs::create_dir(dir.path().join("repo/src/.git")).unwrap();
        let found = birth_branch(&dir.path().join("repo/src"));
        assert_eq!(found.as_deref(), Some("main"), "an empty `.git` is no repository");
    }

    #[test]
    fn git_itself_agrees() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = command("git");
            // What git sets for its hooks would lead to another repository.
            git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
            git.current_dir(dir.path()).env("HOME", dir.path()).env("GIT_CONFIG_NOSYSTEM", "1");
            git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
            let out = git.output().unwrap();
            assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8(out.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "--initial-branch", "feat/x"]);
        assert_eq!(birth_branch(dir.path()).as_deref(), Some("feat/x"), "before the first commit");
        git(&["commit", "--allow-empty", "--message", "a"]);
        git(&["worktree", "add", "tree", "-b", "feat/x.a"]);
        assert_eq!(birth_branch(&dir.path().join("tree")).as_deref(), Some("feat/x.a"));
        git(&["checkout", "--detach"]);
        let commit = git(&["rev-parse", "--short=8", "HEAD"]);
        assert_eq!(birth_branch(dir.path()), Some(commit));
    }
}
