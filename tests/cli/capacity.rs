//! Networks whose size is chosen: `--effort`, and what is said and written down.

use crate::support::{Folder, list, theme_docs};
use noisyor::network::load_model;

fn themes() -> Folder {
    let folder = Folder::new();
    folder.write("docs.jsonl", theme_docs());
    folder
}

#[test]
fn a_chosen_network_is_explained_and_can_be_repeated() {
    let folder = themes();
    for extra in ["", "--exclude ball,song"] {
        let (run, again) = (format!("run{}", extra.len()), format!("again{}", extra.len()));
        let common = format!("docs.jsonl --seed 2 --test 0.2 --backend cpu {extra}");
        let output = folder.run(&format!("train {common} --effort quick -o {run}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("tried ") && said.contains("chosen, for the best bound"), "{said}");
        let config = folder.json(&format!("{run}/config.json"));
        let learning = &config["run"]["learning"];
        // Topics that have every token cannot keep words apart.
        let has_complete = list(&learning["trials"]).iter().any(|trial| trial["complete"] == true);
        assert_eq!(has_complete, extra.is_empty(), "{learning}");
        assert_eq!(learning["effort"], "quick");
        let chosen = said
            .lines()
            .find_map(|line| line.strip_prefix("chosen, for the best bound of documents held out: "));
        let options = chosen.and_then(|chosen| chosen.split(';').next()).unwrap();
        folder.run(&format!("train {common} {options} -o {again}"));
        let [first, second] =
            [run, again].map(|run| load_model(&folder.path(&format!("{run}/model.safetensors"))).unwrap());
        assert_eq!((first.graph, first.weights), (second.graph, second.weights));
        assert_eq!(first.names, second.names);
    }
}

#[test]
fn a_graph_alone_is_chosen_too() {
    let folder = themes();
    let output = folder.run("graph docs.jsonl -o graph.json --valid 0.1 --seed 2");
    assert!(String::from_utf8_lossy(&output.stderr).contains("chosen, for"));
    assert!(load_model(&folder.path("graph.json")).is_ok());
}

#[test]
fn efforts_that_make_no_sense_are_refused() {
    let folder = themes();
    for effort in ["0", "-1", "nan", "much"] {
        folder.fails(&format!("train docs.jsonl --effort={effort} -o run"), 2, &["quick, normal, thorough"]);
    }
    folder.fails("train docs.jsonl --effort quick --topics 5 -o run", 2, &["--effort", "--topics"]);
    folder.write("graph.tsv", "t\tball\nt\tteam\n");
    folder.fails("train docs.jsonl --effort quick --graph graph.tsv -o run", 2, &["--effort", "--graph"]);
    assert!(!folder.path("run").exists());
}
