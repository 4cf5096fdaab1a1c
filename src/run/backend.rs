//! What computes the E-step: a GPU or the CPU.

use super::observer::{Level, Observer};
use crate::error::{Error, Result};
use crate::estep::EStep;
use crate::estep::cpu::CpuEStep;
use crate::estep::device::{DeviceEStep, DeviceOptions, Machine};
use crate::estep::gpu::{GpuMachine, GpuOptions, list_adapters};
use crate::plan::Device;
use serde::{Deserialize, Serialize};

/// Which backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// A GPU if there is one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU; software Vulkan counts.
    Gpu,
}

/// What computes, and with how much memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackendOptions {
    /// Which backend.
    pub backend: Backend,
    /// Which GPU: its number or a part of its name.
    pub device: Option<String>,
    /// GPU: device memory at most, in MB; none: all of it.
    pub device_mb: Option<u64>,
    /// GPU: memory for packed documents that are kept for later epochs, in MB.
    pub cache_mb: usize,
}

impl Default for BackendOptions {
    fn default() -> Self {
        Self { backend: Backend::Auto, device: None, device_mb: None, cache_mb: 2048 }
    }
}

impl BackendOptions {
    /// Opens it; with a GPU, what a plan has to know of it comes along.
    ///
    /// # Errors
    /// No GPU where one is asked for, or options of a GPU for the CPU.
    pub fn open(&self, observer: &mut dyn Observer) -> Result<(Box<dyn EStep>, Option<Device>)> {
        let cache_bytes = self.cache_mb.saturating_mul(1 << 20);
        let Some(mut gpu) = self.open_gpu(cache_bytes, observer)? else {
            return Ok((Box::new(CpuEStep::new()), None));
        };
        let device = Device { cache_bytes: cache_bytes as u64, software: !gpu.machine().is_hardware() };
        if let Some(mut warn) = observer.warner() {
            gpu.on_warning(move |message| warn(message));
        }
        Ok((Box::new(gpu), Some(device)))
    }

    /// Opens the GPU; none if it is the CPU that is to compute.
    fn open_gpu(
        &self,
        cache_bytes: usize,
        observer: &mut dyn Observer,
    ) -> Result<Option<DeviceEStep<GpuMachine>>> {
        if self.backend == Backend::Cpu {
            let of_gpu = self.device.as_ref().map(|device| format!("`device` {device}"));
            return match of_gpu.or(self.device_mb.map(|mb| format!("`device_mb` {mb}"))) {
                Some(option) => Err(Error::Usage(format!("{option} makes no sense with `backend` cpu"))),
                None => Ok(None),
            };
        }
        let wanted = self.backend == Backend::Gpu || self.device.is_some();
        if !wanted && !list_adapters().iter().any(|adapter| adapter.automatic) {
            observer.says(Level::Detail, "no GPU found: computing on the CPU");
            return Ok(None);
        }
        let options = GpuOptions {
            device: self.device.clone(),
            max_bytes: self.device_mb.map(|mb| mb.saturating_mul(1 << 20)),
            ..GpuOptions::default()
        };
        let machine = match GpuMachine::open(options) {
            Err(error) if !wanted => {
                observer.says(Level::Warning, &format!("{error}; computing on the CPU"));
                return Ok(None);
            }
            machine => machine?,
        };
        observer.says(Level::Info, &format!("computing on {}", machine.name()));
        Ok(Some(DeviceEStep::new(machine, DeviceOptions { cache_bytes, ..DeviceOptions::default() })))
    }
}
