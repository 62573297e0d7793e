//! Packages from npm: fetched once, kept in the cache.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cache::cache_dir;
use crate::process::command;

/// The `node_modules` directory with this package in it, installed if it is not there yet. Several
/// test processes may ask at once: one installs, the others wait for it.
pub fn npm_package(name: &str, version: &str) -> Result<PathBuf> {
    let plain = name.trim_start_matches('@').replace('/', "-");
    let dir = cache_dir().join("npm").join(format!("{plain}-{version}"));
    let modules = dir.join("node_modules");
    fs::create_dir_all(&dir)?;
    let lock =
        OpenOptions::new().write(true).create(true).truncate(false).open(dir.join(".lock"))?;
    lock.lock()?;
    let done = dir.join(".installed");
    if !done.exists() {
        let spec = format!("{name}@{version}");
        let output = command("npm")
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(&dir)
            .arg(&spec)
            .output()
            .context("npm is needed for this test; `tools/setup` installs it")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "npm could not install {spec}: {stderr}");
        OpenOptions::new().write(true).create(true).truncate(true).open(&done)?;
    }
    Ok(modules)
}

/// `node`, able to `require` a package.
pub fn node_with(name: &str, version: &str) -> Result<Command> {
    let mut node = command("node");
    node.env("NODE_PATH", npm_package(name, version)?);
    Ok(node)
}
