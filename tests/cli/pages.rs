//! `completions` and `man`: what the shell and `man` are told of the program.

use crate::support::Folder;

#[test]
fn completions_for_every_shell_know_commands_and_options() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.stdout(&format!("completions {shell}"));
        assert!(script.contains("train") && script.contains("per-doc"), "{shell}: {script}");
    }
    folder.fails("completions csh", 2, &["csh", "bash"]);
}

#[test]
fn the_main_page_on_standard_output_and_a_page_a_command_in_a_folder() {
    let folder = Folder::new();
    let main = folder.stdout("man");
    assert!(main.contains(".TH noisyor 1") && main.contains("noisyor\\-train(1)"), "{main}");
    folder.run("man -o pages/man1");
    assert_eq!(folder.text("pages/man1/noisyor.1"), main);
    let pages = folder.names_in("pages/man1");
    for page in ["noisyor-infer.1", "noisyor-model-merge.1", "noisyor-corpus-split.1"] {
        assert!(pages.iter().any(|name| name == page), "{pages:?}");
    }
    assert!(folder.text("pages/man1/noisyor-eval.1").contains("per\\-doc"));
    folder.write("file", "");
    folder.fails("man -o file", 3, &["file"]);
}
