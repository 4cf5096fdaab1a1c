//! What goes wrong around a file: folders, disks, pipes, files that change under the reader.

use super::support::{Folder, gzip, text};
use assert_cmd::cargo::cargo_bin;
use noisyor::corpus::Sink;
use noisyor::corpus::native::NativeWriter;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs the program, which must end with a status, tell all `parts`, and leave the folder as it was.
fn fails(folder: &Folder, arguments: &str, status: i32, parts: &[&str]) {
    let before = folder.names();
    let output = folder.noisyor(arguments);
    assert_told(&output, arguments, status, parts);
    assert_eq!(folder.names(), before, "{arguments}");
    assert_eq!(folder.leftovers(), [""; 0], "{arguments}");
}

fn assert_told(output: &Output, what: &str, status: i32, parts: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{what}: {} {message}", output.status);
    for part in parts {
        assert!(message.contains(part), "{what}: '{part}' is not in\n{message}");
    }
}

/// A corpus that takes a while to read.
fn many_lines(n: usize) -> String {
    (0..n)
        .map(|at| format!("0 {}:1 {}:1 {}:1\n", at % 97 + 1, at % 89 + 100, at * 7919 % 100_003 + 200))
        .collect()
}

#[test]
fn a_folder_without_texts_is_no_corpus() {
    let folder = Folder::new();
    fs::create_dir(folder.path("docs.svm")).unwrap();
    fails(&folder, "corpus docs.svm -o out.corpus", 2, &["docs.svm: this folder is empty"]);
    fails(&folder, "check docs.svm", 2, &["docs.svm has 1 fault"]);
    fails(&folder, "corpus . --format text -o out.corpus", 2, &["this is a folder; give a file"]);
    fails(&folder, "corpus docs.svm --text-column 2 -o out.corpus", 2, &["read as text"]);
}

#[test]
fn a_missing_file_is_status_3() {
    let folder = Folder::new();
    folder.write("a.svm", "0 1:1\n");
    for command in [
        "check nowhere.svm",
        "corpus nowhere.svm -o out.corpus",
        "corpus a.svm nowhere.svm -o out.corpus",
        "check nowhere/nowhere.svm",
        "check a.svm/nowhere.svm",
    ] {
        fails(&folder, command, 3, &["nowhere.svm", "os error"]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_status_3() {
    let folder = Folder::new();
    // The first page of memory is never there, and not even root can read it.
    for command in
        ["check /proc/self/mem --format text", "corpus /proc/self/mem --format svmlight -o out.corpus"]
    {
        fails(&folder, command, 3, &["/proc/self/mem", "os error 5"]);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_told() {
    let folder = Folder::new();
    folder.write("a.svm", "0 1:1\n");
    fs::create_dir(folder.path("out")).unwrap();
    fails(&folder, "corpus a.svm -o out", 2, &["out is a folder; give a file name"]);
    for place in ["/proc/x.corpus", "/sys/x.corpus", "a.svm/x.corpus", "nowhere/x.corpus"] {
        fails(&folder, &format!("corpus a.svm -o {place}"), 3, &[place, "os error"]);
    }
}

#[test]
fn what_is_read_is_never_replaced() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("a.svm", folder.path("link.svm")).unwrap();
    for content in ["0 1:1\n", "0 x:1\n"] {
        folder.write("a.svm", content);
        folder.write("b.svm", "0 1:1\n");
        folder.write("v.txt", "cat\n");
        for arguments in [
            "corpus a.svm -o a.svm",
            "corpus a.svm -o ./a.svm",
            "corpus b.svm a.svm -o a.svm",
            "corpus link.svm -o a.svm",
            "corpus a.svm --vocab v.txt -o v.txt",
            "corpus a.svm -o out.corpus --save-vocab a.svm",
        ] {
            fails(&folder, arguments, 2, &["this is read", "another file"]);
        }
        fails(&folder, "corpus a.svm -o out --save-vocab out", 2, &["different files"]);
        assert_eq!(fs::read_to_string(folder.path("a.svm")).unwrap(), content);
        assert_eq!(fs::read_to_string(folder.path("v.txt")).unwrap(), "cat\n");
    }
    // What was there before stays until the new one is whole.
    folder.write("out.corpus", "old");
    fails(&folder, "corpus a.svm -o out.corpus", 2, &["a.svm:1: "]);
    assert_eq!(fs::read_to_string(folder.path("out.corpus")).unwrap(), "old");
    assert!(folder.noisyor("corpus b.svm -o out.corpus").status.success());
    assert_ne!(fs::read(folder.path("out.corpus")).unwrap(), b"old");
}

/// Runs the program from a shell after some commands; `$0` is the program.
fn shell(folder: &Folder, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(cargo_bin!("noisyor")).current_dir(folder.path(""));
    command.output().unwrap()
}

#[test]
fn a_disk_that_fills_up_is_status_3_and_nothing_is_left() {
    let folder = Folder::new();
    folder.write("a.svm", many_lines(100_000));
    folder.write("a.txt", "cat dog bird\n".repeat(100_000));
    let before = folder.names();
    for file in ["a.svm", "a.txt --min-df 1"] {
        let script = format!("trap '' XFSZ; ulimit -f 200; exec \"$0\" corpus {file} -o out.corpus");
        assert_told(&shell(&folder, &script), &script, 3, &["out.corpus", "os error 27"]);
        assert_eq!(folder.names(), before);
    }
    for command in ["check a.svm", "check a.svm --json", "corpus a.svm -o out.corpus --json"] {
        let output = shell(&folder, &format!("exec \"$0\" {command} > /dev/full"));
        assert_told(&output, command, 3, &["standard output", "os error 28"]);
    }
}

#[test]
fn a_small_disk_that_is_full_is_status_3() {
    let folder = Folder::new();
    folder.write("a.svm", many_lines(100_000));
    fs::create_dir(folder.path("disk")).unwrap();
    let mount = "mount -t tmpfs -o size=256k none disk";
    let possible =
        Command::new("unshare").args(["-m", "sh", "-c", mount]).current_dir(folder.path("")).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    let output = shell(
        &folder,
        &format!(
            "exec unshare -m sh -c '{mount} && \"$0\" corpus a.svm -o disk/out.corpus; s=$?; ls -A disk; exit $s' \"$0\""
        ),
    );
    assert_told(&output, mount, 3, &["disk/out.corpus", "os error 28"]);
    assert_eq!(text(&output.stdout), "", "files are left");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let folder = Folder::new();
    folder.write("a.svm", many_lines(1000));
    for arguments in ["check a.svm", "check a.svm --json", "corpus a.svm -o out.corpus"] {
        let mut child = start(&folder, arguments);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        assert!(!text(&output.stderr).contains("roken pipe"), "{}", text(&output.stderr));
    }
}

fn start(folder: &Folder, arguments: &str) -> Child {
    let mut command = Command::new(cargo_bin!("noisyor"));
    command.args(arguments.split_whitespace()).current_dir(folder.path(""));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the process has read from the file or mapped it; false if it ended before. A file that is only open may not have
/// been looked at yet: changed then, it would simply be another file.
fn wait_until_read(child: &mut Child, file: &Path) -> bool {
    let proc = Path::new("/proc").join(child.id().to_string());
    let name = file.to_str().unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        let mapped = fs::read_to_string(proc.join("maps")).is_ok_and(|maps| maps.contains(name));
        let mut open = fs::read_dir(proc.join("fd")).into_iter().flatten().flatten();
        let is_read = |fd: fs::DirEntry| {
            let info = || fs::read_to_string(proc.join("fdinfo").join(fd.file_name())).unwrap_or_default();
            let is_ours = fs::read_link(fd.path()).is_ok_and(|target| target == file);
            is_ours && !info().lines().any(|line| line.split_whitespace().eq(["pos:", "0"]))
        };
        if mapped || open.any(is_read) {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    false
}

/// Starts the program, changes the file once it is open, and tells how it ended; again if it had ended before.
fn changed_under(folder: &Folder, arguments: &str, file: &str, bytes: &[u8], change: fn(&Path)) -> Output {
    let path = folder.path(file).canonicalize().unwrap_or_else(|_| folder.path(file));
    for _ in 0..10 {
        fs::write(&path, bytes).unwrap();
        let mut child = start(folder, arguments);
        if wait_until_read(&mut child, &path) {
            change(&path);
        }
        let output = child.wait_with_output().unwrap();
        if output.status.code() != Some(0) {
            return output;
        }
        eprintln!("{arguments}: done before {file} was changed; once more");
        let _ = fs::remove_file(folder.path("out.corpus"));
    }
    panic!("{arguments}: always done before {file} is changed");
}

fn cut(path: &Path) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(10_000).unwrap();
}

fn append(path: &Path) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"0 1:1\n").unwrap();
}

#[test]
fn a_file_that_changes_while_it_is_read_is_status_3() {
    let folder = Folder::new();
    let text = many_lines(1_500_000);
    let zipped = gzip_fast(&text);
    for (file, bytes) in [("a.svm", text.as_bytes()), ("a.svm.gz", &zipped)] {
        for change in [cut as fn(&Path), append] {
            for command in ["check", "corpus -o out.corpus"] {
                let arguments = format!("{command} {file}");
                let output = changed_under(&folder, &arguments, file, bytes, change);
                assert_told(&output, &arguments, 3, &[file, "changed while it was read", "read a copy"]);
                assert!(!folder.path("out.corpus").exists());
            }
        }
    }
    assert_eq!(folder.names(), ["a.svm", "a.svm.gz"]);
}

/// In members, so that compressing takes no longer than it must.
fn gzip_fast(text: &str) -> Vec<u8> {
    let part = &text[..text.len() / 15];
    let end = part.rfind('\n').map_or(0, |at| at + 1);
    gzip(&part[..end]).repeat(15)
}

/// A native corpus of so many documents, in bytes.
fn native(folder: &Folder, n_docs: u32) -> Vec<u8> {
    let path = folder.path("whole.corpus");
    let mut writer = NativeWriter::create(&path).unwrap();
    for doc in 0..n_docs {
        let mut tokens = (0..25).map(|at| (doc * 31 + at * 7) % 50).collect();
        writer.push(&mut tokens, "", "").unwrap();
    }
    writer.commit().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    bytes
}

#[test]
fn a_mapped_corpus_that_is_cut_short_is_told_and_nothing_is_written() {
    let folder = Folder::new();
    let tokens: String = (0..50).map(|at| format!("\tw{at}\t0.01\nt\tw{at}\t1\n")).collect();
    folder.write("model.tsv", format!("\tt\t0.5\n{tokens}"));
    let bytes = native(&folder, 900_000);
    assert!(bytes.len() > 90 << 20, "{} bytes", bytes.len());
    for arguments in
        ["eval model.tsv a.corpus --backend cpu", "infer model.tsv a.corpus --backend cpu -o out.tsv"]
    {
        let output = changed_under(&folder, arguments, "a.corpus", &bytes, cut);
        let (status, message) = (output.status.code(), text(&output.stderr));
        assert!(matches!(status, Some(2 | 3)), "{arguments}: {} {message}", output.status);
        assert!(message.contains("corpus"), "{arguments}: {message}");
        assert!(text(&output.stdout).is_empty() && !folder.path("out.tsv").exists(), "{arguments}");
    }
    folder.write("a.corpus", &bytes[..bytes.len() - 100]);
    fails(&folder, "eval model.tsv a.corpus --backend cpu", 2, &["a.corpus"]);
}
