//! Where downloaded tools are kept: one directory outside the checkout.

use std::env;
use std::path::PathBuf;

/// `$RINGER_DEV_CACHE`, else `ringer-dev` in the user's cache directory.
pub fn cache_dir() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").expect("HOME is set where tests run").join(".cache");
    set("RINGER_DEV_CACHE")
        .unwrap_or_else(|| set("XDG_CACHE_HOME").unwrap_or_else(home).join("ringer-dev"))
}
