//! The GPU as a backend, if the program was built with it.

use super::Common;
use super::common::tell;
#[cfg(not(feature = "gpu"))]
use noisyor::Error;
use noisyor::Result;
use noisyor::bench::Measured;
use noisyor::estep::device::{DeviceEStep, DeviceOptions, Machine};

/// Which GPU, and how it is used.
#[derive(Default)]
#[cfg_attr(not(feature = "gpu"), allow(dead_code))]
pub(crate) struct Wanted {
    /// Its number or a part of its name; else the best.
    pub(crate) device: Option<String>,
    /// Device memory to use at most.
    pub(crate) max_bytes: Option<u64>,
    /// Whether kernels are timed.
    pub(crate) timestamps: bool,
    /// Whether the speed of copies is measured.
    pub(crate) copies: bool,
    pub(crate) options: DeviceOptions,
}

/// A GPU that was opened.
pub(crate) struct Gpu {
    pub(crate) name: String,
    pub(crate) is_hardware: bool,
    /// Bytes that copies read and write per second, where that was measured.
    pub(crate) copy_bytes_per_s: Option<f64>,
    pub(crate) estep: Box<dyn Measured>,
}

/// The GPUs there are; whether each may be taken without being asked for.
#[cfg(feature = "gpu")]
pub(crate) fn adapters() -> Vec<bool> {
    noisyor::estep::gpu::list_adapters().iter().map(|adapter| adapter.automatic).collect()
}

/// Without the feature there are none.
#[cfg(not(feature = "gpu"))]
pub(crate) fn adapters() -> Vec<bool> {
    Vec::new()
}

/// Opens a GPU.
#[cfg(feature = "gpu")]
pub(crate) fn open(wanted: Wanted, common: &Common) -> Result<Gpu> {
    use noisyor::estep::gpu::{GpuMachine, GpuOptions};
    let Wanted { device, max_bytes, timestamps, copies, options } = wanted;
    let machine = GpuMachine::open(GpuOptions { device, max_bytes, timestamps, ..GpuOptions::default() })?;
    let (name, is_hardware) = (machine.name(), machine.is_hardware());
    let copy_bytes_per_s = if copies { Some(machine.copy_bandwidth()?) } else { None };
    Ok(Gpu { name, is_hardware, copy_bytes_per_s, estep: on_device(machine, options, common) })
}

/// Without the feature there is none to open.
#[cfg(not(feature = "gpu"))]
pub(crate) fn open(_: Wanted, _: &Common) -> Result<Gpu> {
    Err(Error::Device(
        "noisyor was built without the feature gpu; use --backend cpu, or build it with that".into(),
    ))
}

/// The E-step on a machine, which warns of trouble unless --quiet.
pub(crate) fn on_device(
    machine: impl Machine + 'static,
    options: DeviceOptions,
    common: &Common,
) -> Box<dyn Measured> {
    let mut estep = DeviceEStep::new(machine, options);
    if !common.quiet {
        estep.on_warning(|message| tell(format_args!("warning: {message}")));
    }
    Box::new(estep)
}
