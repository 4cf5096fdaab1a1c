//! Every kernel is valid WGSL without extensions, and becomes SPIR-V, MSL and HLSL: the languages of Vulkan, Metal and
//! DirectX 12, whatever adapter the tests themselves run on.
#![allow(clippy::unwrap_used)]

use naga::back::{hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};
use noisyor::estep::device::{KERNELS, Kernel, Lanes, Q_UPDATE};
use std::path::PathBuf;
use std::process::{Command, Output};

fn validate(source: &str) -> Result<(Module, ModuleInfo), String> {
    let module = naga::front::wgsl::parse_str(source).map_err(|e| e.emit_to_string(source))?;
    // No capabilities: what every adapter can do.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).map_err(|e| e.emit_to_string(source))?;
    Ok((module, info))
}

/// Every kernel in all its variants.
fn sources() -> impl Iterator<Item = (&'static Kernel, Lanes, String)> {
    let pairs =
        KERNELS.into_iter().flat_map(|kernel| kernel.lanes().iter().map(move |&lanes| (kernel, lanes)));
    pairs.map(|(kernel, lanes)| (kernel, lanes, kernel.source(lanes)))
}

fn for_each_valid(check: impl Fn(&Kernel, &Module, &ModuleInfo)) {
    for (kernel, lanes, source) in sources() {
        let (module, info) = validate(&source).unwrap_or_else(|e| panic!("{kernel:?} {lanes:?}: {e}"));
        check(kernel, &module, &info);
    }
}

#[test]
fn kernels_are_valid_without_any_capability() {
    for_each_valid(|_, _, _| ());
}

/// SPIR-V as wgpu 30.0.1 makes it on a card with Vulkan 1.3 and VK_EXT_robustness2, which all recent ones have: `naga_options` in
/// wgpu-hal's vulkan/adapter.rs, and `compile_stage` in its vulkan/device.rs, with the checks that src/estep/gpu/open.rs leaves switched
/// on and without the zeroing of workgroup memory that it switches off. What is left to naga's defaults does not concern compute kernels.
fn wgpu_options() -> spv::Options<'static> {
    spv::Options {
        lang_version: (1, 6),
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            // The driver checks them.
            buffer: BoundsCheckPolicy::Unchecked,
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: true,
        ..spv::Options::default()
    }
}

/// With NOISYOR_SPIRV=FOLDER they are kept as FOLDER/KERNEL.LANES.spv, for scripts/gpu-isa.sh.
#[test]
fn kernels_become_spirv() {
    let folder = std::env::var_os("NOISYOR_SPIRV").map(PathBuf::from);
    for (kernel, lanes, source) in sources() {
        let (module, info) = validate(&source).unwrap_or_else(|e| panic!("{kernel:?} {lanes:?}: {e}"));
        let entry_point = kernel.name.to_owned();
        let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point };
        let words = spv::write_vec(&module, &info, &wgpu_options(), Some(&pipeline))
            .unwrap_or_else(|e| panic!("{kernel:?} {lanes:?}: {e}"));
        assert_eq!(words[0], 0x0723_0203, "{kernel:?}: SPIR-V begins with its magic number");
        assert!(words.len() > 100, "{kernel:?}");
        if let Some(folder) = &folder {
            let name = format!("{}.{lanes:?}.spv", kernel.name).to_lowercase();
            std::fs::write(folder.join(name), bytemuck::cast_slice(&words)).unwrap();
        }
    }
}

#[test]
fn kernels_become_msl_2_1() {
    for_each_valid(|kernel, module, info| {
        let options = msl::Options { lang_version: (2, 1), ..msl::Options::default() };
        let (text, entry) = msl::write_string(module, info, &options, &msl::PipelineOptions::default())
            .unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
        let name = entry.entry_point_names[0].as_ref().unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
        assert!(text.contains(&format!("kernel void {name}")), "{kernel:?}: {text}");
    });
}

#[test]
fn kernels_become_hlsl_of_shader_model_6_0() {
    for_each_valid(|kernel, module, info| {
        let shader_model = hlsl::ShaderModel::V6_0;
        let options = hlsl::Options { shader_model, ..hlsl::Options::default() };
        let (mut text, pipeline) = (String::new(), hlsl::PipelineOptions::default());
        let entry = hlsl::Writer::new(&mut text, &options, &pipeline)
            .write(module, info, None)
            .unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
        let name = entry.entry_point_names[0].as_ref().unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
        assert!(text.contains(&format!("void {name}(")), "{kernel:?}: {text}");
    });
}

// Tint, the WGSL compiler of Chrome: of the two only it finds barriers that not all threads of a workgroup reach.

/// Tint's answer, or none where it is not on the PATH.
fn tint(source: &str) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.wgsl");
    std::fs::write(&file, source).unwrap();
    match Command::new("tint").args(["--format", "wgsl"]).arg(&file).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!(
                "left out: `tint` is not on the PATH, so nobody looks for barriers that not all threads reach \
                 (scripts/tint/tint --install)"
            );
            None
        }
        Err(error) => panic!("tint: {error}"),
    }
}

#[test]
fn tint_takes_every_kernel() {
    for (kernel, lanes, source) in sources() {
        let Some(output) = tint(&source) else { return };
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && message.is_empty(), "{kernel:?} {lanes:?}: {message}");
        assert!(!output.stdout.is_empty(), "{kernel:?} {lanes:?}");
    }
}

#[test]
fn tint_refuses_a_barrier_that_not_all_threads_reach_and_naga_does_not() {
    // Here the condition hangs on memory that other workgroups write: two threads may read different values.
    let source = Q_UPDATE.source(Lanes::Group);
    let early = source.replace("if (may_leave(at_work))", "if (!at_work)");
    assert_ne!(early, source, "the kernel returns early somewhere");
    assert!(validate(&early).is_ok(), "naga finds it now: tint is no longer needed for this");
    let Some(output) = tint(&early) else { return };
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("uniform control flow"), "{message}");
}
