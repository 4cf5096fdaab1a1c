//! `noisyor devices`: the adapters there are, which one is taken, and what the CPU computes with.

use super::Common;
use super::common::print;
use anyhow::Result;
use noisyor::estep::cpu::InstructionSet;
use noisyor::estep::gpu::{AdapterSummary, list_adapters};
use serde_json::json;

/// The GPUs there are, which one `--backend auto` takes, and the instructions that the CPU computes with
#[derive(clap::Args)]
#[command(after_help = "Example: train on the second of them:
  noisyor devices
  noisyor train --device 1")]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, common: &Common) -> Result<()> {
    let adapters = list_adapters();
    let instructions = InstructionSet::widest().name();
    if common.json {
        let list: Vec<_> =
            adapters.iter().enumerate().map(|(number, adapter)| as_json(number, adapter)).collect();
        let auto = adapters.iter().position(|adapter| adapter.automatic);
        let all = json!({ "devices": list, "auto": auto, "cpu": { "instructions": instructions } });
        return print(format_args!("{all}\n"));
    }
    let mut text = String::new();
    for (number, adapter) in adapters.iter().enumerate() {
        let mib = |bytes: u64| bytes >> 20;
        text += &format!("{number}: {} ({}, {}", adapter.name, adapter.kind, adapter.api);
        text +=
            &if adapter.driver.is_empty() { ")\n".to_owned() } else { format!(", {})\n", adapter.driver) };
        text += &format!(
            "   arrays of up to {} MiB, buffers of up to {} MiB, kernel times {}\n",
            mib(adapter.max_array_bytes),
            mib(adapter.max_buffer_bytes),
            if adapter.timestamps { "on the device" } else { "by the wall clock" }
        );
    }
    text += &match adapters.iter().position(|adapter| adapter.automatic) {
        Some(number) => format!("--backend auto takes number {number}\n"),
        None if adapters.is_empty() => {
            "no GPU adapter was found: --backend auto takes the CPU. Install your card's Vulkan driver; \
             software rendering on Debian and Ubuntu: apt-get install mesa-vulkan-drivers\n"
                .to_owned()
        }
        None => {
            "--backend auto takes the CPU: software adapters are used only with --backend gpu\n".to_owned()
        }
    };
    text += &format!("the CPU computes with {instructions}\n");
    print(text)
}

fn as_json(number: usize, adapter: &AdapterSummary) -> serde_json::Value {
    json!({
        "number": number, "name": adapter.name, "kind": adapter.kind, "api": adapter.api, "driver": adapter.driver,
        "max_array_bytes": adapter.max_array_bytes, "max_buffer_bytes": adapter.max_buffer_bytes,
        "timestamps": adapter.timestamps, "auto": adapter.automatic,
    })
}
