//! The functions of shaders/shared/numeric.wgsl as the adapter's compiler makes them, against f64. WGSL lets compilers fuse and
//! regroup operations; here it shows whether that costs digits.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

use noisyor::estep::device::{Lanes, R_UPDATE, WORKGROUP};
use noisyor::numeric::{X_CAP, f64::softplus};
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::{
    BufferUsages, CommandEncoderDescriptor, ComputePassDescriptor, ComputePipelineDescriptor,
    DeviceDescriptor, Instance, InstanceDescriptor, MapMode, PollType, RequestAdapterOptions,
    ShaderModuleDescriptor, ShaderSource,
};

/// Another entry point for the source of a kernel, which has the functions and their constants.
const ENTRY_POINT: &str = "
@group(0) @binding(20) var<storage, read> arguments: array<vec2<f32>>;
@group(0) @binding(21) var<storage, read_write> values: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn evaluate(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&arguments)) {
        let at = arguments[id.x];
        values[id.x] = vec4<f32>(exp_neg(at.x), log1p_pos(at.y), softplus(-at.x));
    }
}
";

/// exp(-x), 1 - exp(-x), log(1 + t) and softplus(-x) of every (x, t), by the adapter.
fn evaluate(arguments: &[[f32; 2]]) -> Option<Vec<[f32; 4]>> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let adapter = match pollster::block_on(instance.request_adapter(&RequestAdapterOptions::default())) {
        Ok(adapter) => adapter,
        Err(error) if std::env::var_os("NOISYOR_SKIP_GPU").is_some_and(|skip| skip == "1") => {
            println!("skipped, NOISYOR_SKIP_GPU=1: {error}");
            return None;
        }
        Err(error) => panic!("GPU tests need an adapter (scripts/test.sh installs a software one): {error}"),
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&DeviceDescriptor::default())).unwrap();
    let source = R_UPDATE.source(Lanes::Thread) + ENTRY_POINT;
    let source = ShaderSource::Wgsl(source.into());
    let module = device.create_shader_module(ShaderModuleDescriptor { label: None, source });
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("evaluate"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffer = |contents: &[u8], usage| {
        device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
    };
    let zeros = vec![0u8; 16 * arguments.len()];
    let inputs = buffer(bytemuck::cast_slice(arguments), BufferUsages::STORAGE);
    let outputs = buffer(&zeros, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
    let staging = buffer(&zeros, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let entries = [(20, &inputs), (21, &outputs)]
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
    let layout = &pipeline.get_bind_group_layout(0);
    let group =
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups((arguments.len() as u32).div_ceil(WORKGROUP), 1, 1);
    drop(pass);
    encoder.copy_buffer_to_buffer(&outputs, 0, &staging, 0, staging.size());
    queue.submit([encoder.finish()]);
    staging.map_async(MapMode::Read, .., |mapped| mapped.unwrap());
    device.poll(PollType::wait_indefinitely()).unwrap();
    let view = staging.get_mapped_range(..).unwrap();
    Some(bytemuck::pod_collect_to_vec(&view))
}

#[test]
fn functions_are_accurate_on_the_adapter() {
    let spaced = |low: f64, high: f64, share: f64| (low.ln() + (high / low).ln() * share).exp() as f32;
    let n = 1_000_000;
    let arguments: Vec<[f32; 2]> = (0..=n)
        .map(|i| f64::from(i) / f64::from(n))
        .map(|share| [spaced(1e-6, f64::from(X_CAP), share), spaced(1e-30, 1e30, share)])
        .collect();
    let Some(values) = evaluate(&arguments) else { return };
    let mut largest = [0.0f64; 4];
    for (&[x, t], got) in arguments.iter().zip(&values) {
        let (x, t) = (f64::from(x), f64::from(t));
        let want = [(-x).exp(), -(-x).exp_m1(), t.ln_1p(), softplus(-x)];
        for i in 0..4 {
            largest[i] = largest[i].max((f64::from(got[i]) - want[i]).abs() / want[i]);
        }
    }
    println!("largest relative errors: {largest:?}");
    // Rounding costs 9e-8. The others divide, where WGSL allows 2.5 ulp: 3e-7.
    let bounds = [2e-7, 2e-7, 6e-7, 6e-7];
    let accurate = largest.iter().zip(bounds).all(|(error, bound)| *error < bound);
    assert!(accurate, "largest relative errors {largest:?}; bounds {bounds:?}");
}
