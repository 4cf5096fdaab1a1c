//! A temporary folder to run the program in, and small networks to run it on.

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// What a run folder holds.
pub(crate) const RUN_FILES: [&str; 6] =
    [".lock", "checkpoint", "config.json", "graph.safetensors", "metrics.jsonl", "model.safetensors"];

/// A network of two layers that small sums can check.
pub(crate) const FLU_AND_COLD: &str = "flu\tfever\t1.5\nflu\tcough\t0.5\ncold\tcough\t1\n\tflu\t0.1\n\tcold\t0.2\n\tfever\t0.01\n\tcough\t0.05\n";

/// A folder with files; dropped, it is gone.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    /// A folder with a golden case: `model.json`, and its documents as `docs.jsonl` and `docs.svm`.
    pub(crate) fn with_golden(case: &Value) -> Self {
        let folder = Self::new();
        folder.write("model.json", case["model"].to_string());
        let docs = list(&case["docs"]);
        folder
            .write("docs.svm", docs.iter().map(|doc| svmlight_line(&token_numbers(doc))).collect::<String>());
        let line = |(at, doc): (usize, &Value)| {
            let names: Vec<&Value> =
                token_numbers(doc).iter().map(|&token| &case["model"]["tokens"][token]).collect();
            json!({"id": format!("doc {at}"), "tokens": names}).to_string() + "\n"
        };
        folder.write("docs.jsonl", docs.iter().enumerate().map(line).collect::<String>());
        folder
    }

    /// A folder with `sample.tsv`, the network of the bundled sample: training by that graph learns none.
    pub(crate) fn with_sample() -> Self {
        let folder = Self::new();
        fs::copy(repository("data/sample/network.tsv"), folder.path("sample.tsv"))
            .expect("the sample's network");
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file written");
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8")
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        parse(&self.text(name))
    }

    /// A file of JSON lines.
    pub(crate) fn json_lines(&self, name: &str) -> Vec<Value> {
        self.text(name).lines().map(parse).collect()
    }

    /// Whole lines of a file that may be growing, or not be there yet.
    pub(crate) fn lines_so_far(&self, name: &str) -> usize {
        fs::read(self.path(name)).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
    }

    /// Rows of a table with a header, header first.
    pub(crate) fn table(&self, name: &str) -> Vec<Vec<String>> {
        self.text(name).lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// Names of all files and folders in a folder below, hidden ones too, sorted.
    pub(crate) fn names_in(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(below)).expect("a folder");
        let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
        names.sort();
        names
    }

    /// The program with arguments that are separated by spaces.
    pub(crate) fn noisyor(&self, arguments: &str) -> Command {
        let mut command = cargo_bin_cmd!("noisyor");
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        command
    }

    /// Runs the program, which must succeed.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        let output = self.noisyor(arguments).output().expect("the program starts");
        assert!(output.status.success(), "noisyor {arguments}: {}\n{}", output.status, text(&output.stderr));
        output
    }

    pub(crate) fn stdout(&self, arguments: &str) -> String {
        text(&self.run(arguments).stdout)
    }

    pub(crate) fn stderr(&self, arguments: &str) -> String {
        text(&self.run(arguments).stderr)
    }

    /// Runs the program with `--json`; its standard output must be one line of JSON.
    pub(crate) fn result(&self, arguments: &str) -> Value {
        let stdout = self.stdout(&format!("{arguments} --json"));
        assert_eq!(stdout.lines().count(), 1, "noisyor {arguments}: {stdout}");
        parse(&stdout)
    }

    /// Runs the program, which must fail with a status and a message that holds all `parts`, and print no result.
    pub(crate) fn fails(&self, arguments: &str, status: i32, parts: &[&str]) {
        let output = self.noisyor(arguments).output().expect("the program starts");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "noisyor {arguments}: {message}");
        for part in parts {
            assert!(message.contains(part), "noisyor {arguments}: '{part}' is not in\n{message}");
        }
        assert_eq!(text(&output.stdout), "", "noisyor {arguments}");
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

pub(crate) fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"))
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// Takes the Vulkan drivers away from a command.
pub(crate) fn without_driver(command: &mut Command) -> &mut Command {
    command.env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null")
}

/// Whether a GPU must be there (software Vulkan will do): always, unless the user says that there is none.
pub(crate) fn gpu_is_tested() -> bool {
    let skip = std::env::var("NOISYOR_SKIP_GPU").is_ok_and(|value| value == "1");
    if skip {
        eprintln!("skipped, as NOISYOR_SKIP_GPU=1: no GPU is tested");
    }
    !skip
}

/// The keys of an object, sorted.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// How many golden cases there are.
pub(crate) const N_GOLDEN: usize = 15;

pub(crate) fn golden(case: usize) -> Value {
    let path = repository(&format!("tests/golden/case{case:02}.json"));
    parse(&fs::read_to_string(path).expect("a golden case"))
}

fn token_numbers(doc: &Value) -> Vec<usize> {
    list(&doc["tokens"]).iter().map(|token| token.as_u64().expect("a token number") as usize).collect()
}

fn svmlight_line(tokens: &[usize]) -> String {
    let columns = tokens.iter().map(|token| format!(" {}:1", token + 1));
    "0".to_owned() + &columns.collect::<String>() + "\n"
}

/// Two levels of topics: `food` above `fruit` and `bread`, `farm` beside it above `fruit`.
pub(crate) const PANTRY: &str = "\
\tfood\t0.5\n\tfarm\t0.4\n\tfruit\t0.05\n\tbread\t0.05\n\teat\t0.01\n\tapple\t0.01\n\tpear\t0.01\n\tflour\t0.01
food\tfruit\t1\nfood\tbread\t2\nfarm\tfruit\t0.5\nfood\teat\t1.5
fruit\tapple\t2\nfruit\tpear\t1\nbread\tflour\t3\nfarm\tapple\t0.25\n";

/// A few documents of [`PANTRY`], enough to train on.
pub(crate) fn pantry_docs() -> String {
    let docs = ["eat apple pear", "eat flour", "apple", "", "pear apple", "eat flour apple", "flour", "eat"];
    let line = |doc: &str| json!({"tokens": doc.split_whitespace().collect::<Vec<_>>()}).to_string() + "\n";
    docs.into_iter().cycle().take(40).map(line).collect()
}

/// Subjects that documents are about, and their words.
pub(crate) const THEMES: [&str; 4] = [
    "ball goal team score match",
    "song band tune choir drum",
    "oven bread flour dough yeast",
    "sail mast keel deck anchor",
];

/// 200 documents of one theme each, most of its words.
pub(crate) fn theme_docs() -> String {
    let line = |at: usize| {
        let words: Vec<&str> = THEMES[at % 4].split(' ').collect();
        let kept: Vec<&str> =
            words.iter().enumerate().filter(|(word, _)| at / 4 % 5 != *word).map(|(_, w)| *w).collect();
        json!({"tokens": kept}).to_string() + "\n"
    };
    (0..200).map(line).collect()
}
