//! Opening a device: limits, error handlers, pipelines.

use super::adapter::{find_adapter, is_hardware};
use crate::error::{Error, Result};
use crate::estep::device::{Access, Args, Fault, KERNELS, Kernel, Lanes, Route};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType,
    ComputePipeline, ComputePipelineDescriptor, Device, DeviceDescriptor, ErrorFilter, Features, Limits,
    PipelineCompilationOptions, PipelineLayoutDescriptor, PollType, Queue, ShaderModuleDescriptor,
    ShaderSource, ShaderStages,
};

/// How long a device in trouble may take to be done with what is under way.
const SETTLE: Duration = Duration::from_secs(10);

/// Which device, and how it is used.
#[derive(Debug, Clone, Default)]
pub struct GpuOptions {
    /// The adapter's number or a part of its name; the best if none is given.
    pub device: Option<String>,
    /// Of several adapters that are alike, the one to take: those before are for other processes.
    pub turn: usize,
    /// Device memory to use at most, in bytes.
    pub max_bytes: Option<u64>,
    /// WebGPU's default limits instead of the adapter's own.
    pub default_limits: bool,
    /// Measure every kernel, where the adapter can.
    pub timestamps: bool,
}

/// A pipeline and the layout of its arrays.
pub(super) struct Pipeline {
    pub(super) pipeline: ComputePipeline,
    pub(super) layout: BindGroupLayout,
}

/// An open device.
pub(super) struct Open {
    pub(super) name: String,
    pub(super) hardware: bool,
    pub(super) device: Device,
    pub(super) queue: Queue,
    pub(super) limits: Limits,
    pub(super) timestamps: bool,
    fault: Arc<Mutex<Option<Fault>>>,
}

/// The pipelines, and the routes that they make.
#[derive(Default)]
pub(super) struct Pipelines {
    made: HashMap<(&'static str, Lanes), Pipeline>,
    pub(super) routes: Vec<Route>,
}

impl Pipelines {
    /// All that there is room for. A device that cannot run the kernels of the flat route says so at once; other routes are left out.
    pub(super) fn new(open: &Open) -> Result<Self> {
        let mut pipelines = Self::default();
        let room = open.limits.max_compute_workgroup_storage_size;
        let fits = |route: &Route| route.bin_lanes().is_none_or(|lanes| lanes.workgroup_bytes() <= room);
        for route in Route::ALL.into_iter().filter(fits) {
            match pipelines.make(open, route) {
                Ok(()) => pipelines.routes.push(route),
                Err((kernel, fault)) if route == Route::Flat => {
                    return Err(Error::Device(format!(
                        "{} cannot run '{kernel}': {fault}; try another `device` or `backend` cpu",
                        open.name
                    )));
                }
                Err(_) => (),
            }
        }
        Ok(pipelines)
    }

    /// Makes those of a route that are not there; the kernel that failed.
    fn make(&mut self, open: &Open, route: Route) -> Result<(), (&'static str, Fault)> {
        for kernel in KERNELS {
            let of_route = |lanes: &&Lanes| route.lanes().contains(lanes);
            for &lanes in kernel.lanes().iter().filter(of_route) {
                self.get(open, kernel, lanes).map_err(|fault| (kernel.name, fault))?;
            }
        }
        Ok(())
    }

    /// A kernel's pipeline, made if it is not there.
    pub(super) fn get(&mut self, open: &Open, kernel: &Kernel, lanes: Lanes) -> Result<&Pipeline, Fault> {
        Ok(match self.made.entry((kernel.name, lanes)) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => {
                place.insert(open.guarded(|device| make_pipeline(device, kernel, lanes))?)
            }
        })
    }
}

impl Open {
    pub(super) fn new(options: &GpuOptions) -> Result<Self> {
        let adapter = find_adapter(options.device.as_deref(), options.turn)?;
        let name = adapter.get_info().name;
        let limits = if options.default_limits { Limits::default() } else { adapter.limits() };
        let timestamps = options.timestamps && adapter.features().contains(Features::TIMESTAMP_QUERY);
        let descriptor = DeviceDescriptor {
            label: Some("noisyor"),
            required_features: if timestamps { Features::TIMESTAMP_QUERY } else { Features::empty() },
            required_limits: limits.clone(),
            ..DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| Error::Device(format!("{name} cannot be opened: {e}; try another `device`")))?;
        // The first fault is the cause, later ones follow from it.
        let fault = Arc::new(Mutex::new(None));
        let (lost, other) = (Arc::clone(&fault), Arc::clone(&fault));
        let set = |slot: &Mutex<Option<Fault>>, fault: Fault| {
            slot.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(fault);
        };
        device.set_device_lost_callback(move |reason, message| {
            // A lost device outranks whatever failed because of it.
            let fault = Fault::Lost(format!("{reason:?} {message}").trim().to_owned());
            *lost.lock().unwrap_or_else(|e| e.into_inner()) = Some(fault);
        });
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| set(&other, fault_of(error))));
        let hardware = is_hardware(&adapter);
        Ok(Self { name, hardware, device, queue, limits, timestamps, fault })
    }

    /// The fault that has come up since the last call, if any; a lost device stays lost.
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.fault().map_or(Ok(()), |fault| Err(self.cause(fault)))
    }

    fn fault(&self) -> Option<Fault> {
        let mut fault = self.fault.lock().unwrap_or_else(|e| e.into_inner());
        if matches!(&*fault, Some(Fault::Lost(_))) { fault.clone() } else { fault.take() }
    }

    /// What is behind a fault: that a device is gone may be told only once it is polled, and after what failed because of it.
    fn cause(&self, fault: Fault) -> Fault {
        if !matches!(fault, Fault::Lost(_)) {
            self.settle();
        }
        self.fault().filter(|told| matches!(told, Fault::Lost(_))).unwrap_or(fault)
    }

    /// Waits for the device to be done with everything, which frees what was dropped meanwhile.
    fn settle(&self) {
        let _ = self.device.poll(PollType::Wait { submission_index: None, timeout: Some(SETTLE) });
    }

    /// Makes a device fit for another try: nothing under way, and faults forgotten, unless it is lost.
    pub(super) fn calm(&self) {
        self.settle();
        self.fault();
    }

    /// Runs something that may fail on the device's side at once.
    pub(super) fn guarded<T>(&self, make: impl FnOnce(&Device) -> T) -> Result<T, Fault> {
        let out_of_memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let invalid = self.device.push_error_scope(ErrorFilter::Validation);
        let made = make(&self.device);
        let errors = [pollster::block_on(invalid.pop()), pollster::block_on(out_of_memory.pop())];
        self.check()?;
        errors.into_iter().flatten().next().map_or(Ok(made), |error| Err(self.cause(fault_of(error))))
    }
}

fn fault_of(error: wgpu::Error) -> Fault {
    match error {
        wgpu::Error::OutOfMemory { source } => Fault::OutOfMemory(source.to_string()),
        other => Fault::Refused(other.to_string()),
    }
}

fn make_pipeline(device: &Device, kernel: &Kernel, lanes: Lanes) -> Pipeline {
    let module = device.create_shader_module(ShaderModuleDescriptor {
        label: Some(kernel.name),
        source: ShaderSource::Wgsl(kernel.source(lanes).into()),
    });
    let entry = |binding: usize, ty, has_dynamic_offset, min_binding_size| BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size },
        count: None,
    };
    let args_bytes = NonZeroU64::new(size_of::<Args>() as u64);
    let mut entries = vec![entry(0, BufferBindingType::Uniform, true, args_bytes)];
    entries.extend(kernel.arrays.iter().enumerate().map(|(at, (_, access))| {
        let ty = BufferBindingType::Storage { read_only: *access == Access::Read };
        entry(at + 1, ty, false, None)
    }));
    let layout = device
        .create_bind_group_layout(&BindGroupLayoutDescriptor { label: Some(kernel.name), entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label: Some(kernel.name),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: Some(kernel.name),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(kernel.name),
        // Kernels write workgroup memory before they read it (the interpreter of the tests refuses those that do not), and where a
        // driver cannot zero it one thread of a workgroup would do it alone.
        compilation_options: PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..PipelineCompilationOptions::default()
        },
        cache: None,
    });
    Pipeline { pipeline, layout }
}
