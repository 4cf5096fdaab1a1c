//! What `noisyor --version` says: the version, the commit, the features.
//!
//! A commit that changes makes cargo build library and tests again, so only release builds, which people are given, have it.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let mut features: Vec<String> = env::vars()
        .filter_map(|(name, _)| name.strip_prefix("CARGO_FEATURE_").map(str::to_lowercase))
        .map(|name| name.replace('_', "-"))
        .filter(|name| name != "default")
        .collect();
    features.sort();
    let features = (!features.is_empty()).then(|| format!("features: {}", features.join(", ")));
    let about: Vec<String> = release.then(commit).flatten().into_iter().chain(features).collect();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join("; ")) };
    println!("cargo:rustc-env=NOISYOR_VERSION={version}{about}");
}

/// Commit and date, `abc1234, 2026-11-18`; none outside a checkout of this repository, or without git.
fn commit() -> Option<String> {
    // A copy of the sources inside some other repository has none of its commits.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["log", "-1", "--abbrev=7", "--format=%h, %cs"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
