//! `devices`, and choosing one of them.

use crate::support::{Folder, N_GOLDEN, golden, gpu_is_tested, list, number, text, without_driver};
use noisyor::estep::cpu::InstructionSet;

#[test]
fn text_and_json_agree() {
    let folder = Folder::new();
    let (shown, result) = (folder.stdout("devices"), folder.result("devices"));
    let devices = list(&result["devices"]);
    let numbered = shown.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    assert_eq!(numbered.count(), devices.len(), "{shown}");
    for (number, device) in devices.iter().enumerate() {
        assert_eq!(device["number"], number);
        let field = |name: &str| device[name].as_str().unwrap();
        let begin = format!("{number}: {} ({}, {}", field("name"), field("kind"), field("api"));
        let line = shown.lines().position(|line| line.starts_with(&begin)).expect(&begin);
        assert!(shown.lines().nth(line).unwrap().contains(field("driver")), "{shown}");
        let limits = shown.lines().nth(line + 1).unwrap();
        let mib = |name: &str| format!("{} MiB", device[name].as_u64().unwrap() >> 20);
        assert!(
            limits.contains(&mib("max_array_bytes")) && limits.contains(&mib("max_buffer_bytes")),
            "{limits}"
        );
        assert_eq!(limits.contains("on the device"), device["timestamps"].as_bool().unwrap(), "{limits}");
        assert_eq!(device["auto"].as_bool().unwrap(), result["auto"] == number, "{result}");
        assert!(device["kind"] != "software" || device["auto"] == false, "{result}");
    }
    match result["auto"].as_u64() {
        Some(number) => {
            assert!(shown.contains(&format!("--backend auto takes number {number}\n")), "{shown}")
        }
        None => assert!(shown.contains("--backend auto takes the CPU"), "{shown}"),
    }
    let instructions = InstructionSet::widest().name();
    assert!(shown.ends_with(&format!("the CPU computes with {instructions}\n")), "{shown}");
    assert_eq!(result["cpu"]["instructions"], instructions);
}

#[test]
fn without_a_driver_there_are_none_and_the_remedy_is_named() {
    let folder = Folder::new();
    let shown = without_driver(&mut folder.noisyor("devices")).output().unwrap();
    assert!(shown.status.success());
    let table = text(&shown.stdout);
    assert!(table.starts_with("no GPU adapter was found"), "{table}");
    assert!(table.contains("apt-get install mesa-vulkan-drivers"), "{table}");
    let json = without_driver(&mut folder.noisyor("devices --json")).output().unwrap();
    assert!(json.status.success());
    let instructions = InstructionSet::widest().name();
    let all = format!("{{\"auto\":null,\"cpu\":{{\"instructions\":\"{instructions}\"}},\"devices\":[]}}\n");
    assert_eq!(text(&json.stdout), all);
}

#[test]
fn a_device_is_chosen_by_number_or_by_a_part_of_its_name() {
    if !gpu_is_tested() {
        return;
    }
    let folder = Folder::with_golden(&golden(0));
    let devices = folder.result("devices");
    let name = devices["devices"][0]["name"].as_str().expect("an adapter; see `noisyor devices`");
    let part = name.split_whitespace().next().unwrap().to_uppercase();
    for device in ["0", &part] {
        let result = folder.result(&format!("eval model.json docs.svm --device {device}"));
        assert_eq!(result["backend"], name, "--device {device}");
        let told = folder.stderr(&format!("eval model.json docs.svm --device {device}"));
        assert_eq!(told, format!("computing on {name}\n"));
    }
    let first = format!("0: {name}");
    for (device, parts) in [("nosuchcard", ["'nosuchcard'", &first]), ("99", ["'99'", &first])] {
        folder.fails(&format!("eval model.json docs.svm --device {device}"), 4, &parts);
    }
}

#[test]
fn a_device_and_the_cpu_exclude_each_other() {
    let folder = Folder::with_golden(&golden(0));
    folder.fails("eval model.json docs.svm --device 0 --backend cpu", 2, &["--device 0", "--backend cpu"]);
}

#[test]
fn gpu_and_cpu_agree_on_the_golden_models() {
    if !gpu_is_tested() {
        return;
    }
    for case in [0, N_GOLDEN / 2, N_GOLDEN - 1] {
        let folder = Folder::with_golden(&golden(case));
        for bound in ["tail", "full"] {
            let elbo = |backend: &str| {
                let arguments = format!("eval model.json docs.svm --bound {bound} --backend {backend}");
                number(&folder.result(&arguments)["elbo_mean"])
            };
            let (cpu, gpu) = (elbo("cpu"), elbo("gpu"));
            assert!((gpu / cpu - 1.0).abs() < 1e-5, "case {case}, {bound}: cpu {cpu}, gpu {gpu}");
        }
    }
}
