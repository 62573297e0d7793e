//! What an administrator's settings do to ours.

use std::fs;
use std::path::{Path, PathBuf};

use ringer_teams::claude_settings::Wanted;
use serde_json::Value;

/// What keeps the settings from working, in words. `dir` has the administrator's.
pub(super) fn warnings(dir: &Path, settings: &str, wanted: &Wanted) -> Vec<String> {
    let mut all = Vec::new();
    let own: Value = serde_json::from_str(settings).unwrap_or_default();
    if own["disableAllHooks"] == true {
        all.push(
            "your settings say `disableAllHooks`: the lead will not hear its workers".to_owned(),
        );
    }
    for file in files(dir) {
        let Some(policy) = read(&file) else { continue };
        let file = file.display();
        for key in ["disableAllHooks", "allowManagedHooksOnly"] {
            if policy[key] == true {
                all.push(format!(
                    "the managed policy `{file}` says `{key}`: hooks of yours do not run, so the lead will not \
                     hear its workers"
                ));
            }
        }
        if policy["allowManagedPermissionRulesOnly"] == true {
            all.push(format!(
                "the managed policy `{file}` says `allowManagedPermissionRulesOnly`: Claude Code asks before it \
                 uses Ringer's tools"
            ));
        }
        for (name, value) in &wanted.env {
            let theirs = &policy["env"][name.as_str()];
            if !theirs.is_null() && theirs != value.as_str() {
                all.push(format!("the managed policy `{file}` sets `env.{name}` to {theirs}"));
            }
        }
        for (key, value) in &wanted.fields {
            let theirs = &policy[key.as_str()];
            if !theirs.is_null() && theirs != value {
                all.push(format!("the managed policy `{file}` sets `{key}` to {theirs}"));
            }
        }
    }
    all
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let more = fs::read_dir(dir.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut more: Vec<PathBuf> = more
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    more.sort();
    std::iter::once(dir.join("managed-settings.json")).chain(more).collect()
}

fn read(file: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}
