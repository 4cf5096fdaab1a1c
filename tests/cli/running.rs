//! The program running beside a test, to be watched, stopped or killed.

use crate::support::Folder;
use assert_cmd::cargo::cargo_bin;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before a test fails: far longer than it does on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process; dropped, it is killed, so that none outlives a test that fails.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts the program with arguments that are separated by spaces; nobody listens to it.
    pub(crate) fn start(folder: &Folder, arguments: &str) -> Self {
        Self::spawn(folder, arguments, Stdio::null(), Stdio::null())
    }

    /// The same; what it says goes to two files of the folder.
    pub(crate) fn start_into(folder: &Folder, arguments: &str, stdout: &str, stderr: &str) -> Self {
        let file = |name: &str| Stdio::from(File::create(folder.path(name)).expect("a file"));
        Self::spawn(folder, arguments, file(stdout), file(stderr))
    }

    fn spawn(folder: &Folder, arguments: &str, stdout: Stdio, stderr: Stdio) -> Self {
        let child = Command::new(cargo_bin!("noisyor"))
            .args(arguments.split_whitespace())
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn();
        Self(child.expect("a child"))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn goes_on(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.id().to_string()]).status().expect("kill");
        assert!(sent.success(), "SIG{signal}");
    }

    /// Waits for its end; its status, none if it was killed.
    pub(crate) fn end(&mut self) -> Option<i32> {
        wait_for("the end", || !self.goes_on());
        self.0.wait().expect("a child").code()
    }

    /// Sends a signal; the status once it ended.
    pub(crate) fn stop(&mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.end()
    }
}

/// Waits until something is so.
pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}
