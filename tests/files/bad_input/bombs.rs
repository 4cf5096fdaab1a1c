//! A small file that grows to hundreds of megabytes is refused before it costs anything.

use super::support::{Folder, gzip, text};

/// Far less than the bomb holds.
#[cfg(target_os = "linux")]
const MEMORY_KB: u64 = 300 << 10;

/// 600 MB of one byte, a thousandth of that compressed.
fn bomb(byte: u8) -> Vec<u8> {
    let bytes = gzip(vec![byte; 20 << 20]).repeat(30);
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    bytes
}

/// Runs the program under a limit of its address space where there is one, and tells the status and its messages.
fn limited(folder: &Folder, arguments: &str) -> (Option<i32>, String) {
    #[cfg(target_os = "linux")]
    {
        let program = assert_cmd::cargo::cargo_bin!("noisyor");
        let script = format!("ulimit -d {MEMORY_KB}; exec {} {arguments} --threads 1", program.display());
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let output = folder.noisyor(arguments);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }
}

#[test]
fn bombs_are_refused_in_little_memory() {
    let folder = Folder::new();
    let newlines = bomb(b'\n');
    folder.write("newlines.txt.gz", &newlines);
    folder.write("newlines.svm.gz", &newlines);
    folder.write("zeros.mtx.gz", bomb(b'0'));
    let before = folder.names();
    for file in ["newlines.txt.gz", "newlines.svm.gz", "zeros.mtx.gz"] {
        for command in ["check", "corpus -o out"] {
            let (status, told) = limited(&folder, &format!("{command} {file}"));
            assert_eq!(status, Some(2), "{command} {file}: {told}");
            assert!(told.contains(&format!("{file}:")), "{told}");
            assert!(told.contains("more than 500 to one") && told.contains("decompress it"), "{told}");
            assert_eq!(folder.names(), before, "{command} {file}");
        }
    }
}
