//! Messages of the library are for callers of the library: they name options by their ids (`min_df`), which the program shows as flags.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use std::path::{Path, PathBuf};

/// Every source file of the library.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("src/cli") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("src/main.rs")
        {
            found.push(path);
        }
    }
}

/// Two dashes and a letter: in Rust only a text has them.
fn has_flag(line: &str) -> bool {
    let is_flag = |(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
    !line.trim_start().starts_with("//") && line.match_indices("--").any(is_flag)
}

#[test]
fn no_message_of_the_library_names_a_flag() {
    assert!(has_flag("    \"lower --min-df\"") && !has_flag("// --min-df") && !has_flag("\"<!-- -->\""));
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 200, "{} files", files.len());
    let mut flags = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let named = text.lines().enumerate().filter(|(_, line)| has_flag(line));
        flags.extend(named.map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim())));
    }
    assert!(flags.is_empty(), "name options by their ids, in backticks:\n{}", flags.join("\n"));
}
