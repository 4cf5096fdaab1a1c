//! The documents: links lead somewhere, pages are in the table of contents, and commands have the options that they are shown with.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Words of the README at most: who wants more reads docs/.
const README_WORDS: usize = 1600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages_in(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages_in(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root().join(name))
        .into();
    pages_in(&root().join("docs"), &mut pages);
    pages.sort();
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page as text and code: lines outside code blocks, and the blocks.
fn parts(page: &str) -> (Vec<&str>, Vec<String>) {
    let (mut text, mut blocks, mut fenced) = (Vec::new(), Vec::new(), false);
    for line in page.lines() {
        let indented = line.starts_with("    ") && text.last().is_none_or(|last: &&str| last.is_empty());
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            if fenced {
                blocks.push(String::new());
            }
        } else if fenced {
            let block = blocks.last_mut().unwrap();
            block.push_str(line);
            block.push('\n');
        } else if indented {
            blocks.push(format!("{}\n", line.trim()));
        } else {
            text.push(line);
        }
    }
    assert!(!fenced, "a code block has no end");
    (text, blocks)
}

/// What stands between pairs of backticks, and the text without it.
fn code_spans(text: &str) -> (Vec<String>, String) {
    let (mut spans, mut rest) = (Vec::new(), String::new());
    for (at, piece) in text.split('`').enumerate() {
        if at % 2 == 1 {
            spans.push(piece.split_whitespace().collect::<Vec<_>>().join(" "));
        } else {
            rest.push_str(piece);
        }
    }
    (spans, rest)
}

/// GitHub's anchor of a heading.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    // Of a link only its text counts.
    while let Some((before, link)) = rest.split_once('[') {
        let Some((shown, after)) = link.split_once("](") else { break };
        text.push_str(before);
        text.push_str(shown);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = parts(page).0.into_iter().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let slug = slug(line.trim_start_matches('#'));
            let n = seen.entry(slug.clone()).or_default();
            *n += 1;
            if *n == 1 { slug } else { format!("{slug}-{}", *n - 1) }
        })
        .collect()
}

/// The targets of a page's links and pictures.
fn links(page: &str) -> Vec<String> {
    let (_, text) = code_spans(&parts(page).0.join("\n"));
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).collect()
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

fn list(faults: Vec<String>) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut faults = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in
            links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, a)| (file, Some(a)));
            let target =
                if file.is_empty() { page.clone() } else { normal(&page.parent().unwrap().join(file)) };
            if !target.exists() {
                faults.push(format!("{}: '{link}' leads to no file", page.display()));
            } else if let Some(anchor) = anchor
                && !anchors(&read(&target)).contains(anchor)
            {
                faults.push(format!("{}: '{link}' leads to no heading", page.display()));
            }
        }
    }
    list(faults);
}

#[test]
fn every_page_is_in_the_summary() {
    let docs = root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let listed: Vec<PathBuf> = links(&read(&summary)).iter().map(|link| normal(&docs.join(link))).collect();
    let mut pages = Vec::new();
    pages_in(&docs, &mut pages);
    let missing = pages.into_iter().filter(|page| *page != summary && !listed.contains(page));
    list(missing.map(|page| format!("{} is not in docs/SUMMARY.md", page.display())).collect());
}

#[test]
fn the_readme_is_short() {
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= README_WORDS, "README.md has {words} words, {README_WORDS} at most: move some to docs/");
}

#[test]
fn files_that_are_named_are_there() {
    let mut faults = Vec::new();
    for page in pages().into_iter().filter(|page| !page.ends_with("CHANGELOG.md")) {
        let text = read(&page);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c));
        for word in words.filter(|word| {
            ["scripts/", "src/", "tests/", "benches/", "shaders/"].iter().any(|at| word.starts_with(at))
        }) {
            if !root().join(word.trim_end_matches('.')).exists() {
                faults.push(format!("{}: there is no {word}", page.display()));
            }
        }
    }
    list(faults);
}

/// The commands `noisyor ...` of a piece of code: words up to the end of the line, a comment, or the next command.
fn commands(code: &str) -> Vec<Vec<String>> {
    let code = code.replace("\\\n", " ");
    let mut commands = Vec::new();
    // `from noisyor import ...` is Python.
    for line in code.lines().filter(|line| !line.starts_with("from ")) {
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            if word == "noisyor" {
                let mut command = Vec::new();
                while let Some(word) = words.next_if(|word| !["#", "|", ">", "<", "&&", "\\"].contains(word))
                {
                    let ends = word.ends_with([';', ')']);
                    command.push(word.trim_end_matches([';', ')']).to_owned());
                    if ends {
                        break;
                    }
                }
                commands.push(command);
            } else if word.starts_with('#') {
                break;
            }
        }
    }
    commands
}

/// What `noisyor COMMAND --help` prints, by the words of the command.
fn help(known: &mut HashMap<String, Option<String>>, command: &str) -> Option<String> {
    let ask = || {
        let output = Command::new(env!("CARGO_BIN_EXE_noisyor"))
            .args(command.split(' '))
            .arg("--help")
            .output()
            .unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    known.entry(command.to_owned()).or_insert_with(ask).clone()
}

#[test]
fn commands_have_the_options_they_are_shown_with() {
    let (mut faults, mut known, mut n_commands) = (Vec::new(), HashMap::new(), 0);
    for page in pages().into_iter().filter(|page| !page.ends_with("CHANGELOG.md")) {
        let text = read(&page);
        let (lines, mut code) = parts(&text);
        code.extend(code_spans(&lines.join("\n")).0);
        for words in code.iter().flat_map(|code| commands(code)) {
            let is_name = |word: &&String| word.chars().all(|c| c.is_ascii_lowercase());
            let Some(name) = words.first().filter(is_name) else { continue };
            let nested = ["corpus split", "model convert", "model merge", "model rename", "model drop"];
            let name = match words.get(1) {
                Some(second) if nested.contains(&format!("{name} {second}").as_str()) => {
                    format!("{name} {second}")
                }
                _ => name.clone(),
            };
            n_commands += 1;
            let Some(help) = help(&mut known, &name) else {
                faults.push(format!("{}: there is no 'noisyor {name}'", page.display()));
                continue;
            };
            let options: BTreeSet<&str> = help
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .filter(|w| w.starts_with("--"))
                .collect();
            for word in
                words.iter().map(|word| word.trim_start_matches('[')).filter(|word| word.starts_with("--"))
            {
                let option = word.split(['=', '[', ']']).next().unwrap();
                if option.len() > 2 && !options.contains(option) {
                    faults.push(format!("{}: 'noisyor {name}' has no {option}", page.display()));
                }
            }
        }
    }
    list(faults);
    assert!(n_commands > 50, "only {n_commands} commands were found: is the search broken?");
}

#[test]
fn headings_become_anchors_as_on_github() {
    assert_eq!(slug(" Which number is it?"), "which-number-is-it");
    assert_eq!(slug(" `infer -o`: [formats](formats.md), q"), "infer--o-formats-q");
    let page = "# A\n```\n# not\n```\n## A\n";
    assert_eq!(anchors(page), BTreeSet::from(["a".to_owned(), "a-1".to_owned()]));
}
