//! What computes the E-step: a GPU or the CPU.

use super::observer::{Level, Observer};
use crate::error::{Error, Result};
use crate::estep::EStep;
use crate::estep::cpu::CpuEStep;
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
    /// Of several GPUs that are alike, the one to take: ranks of a host take turns.
    #[serde(skip)]
    pub turn: usize,
    /// GPU: device memory at most, in MB; none: all of it.
    pub device_mb: Option<u64>,
    /// GPU: memory for packed documents that are kept for later epochs, in MB.
    pub cache_mb: usize,
}

impl Default for BackendOptions {
    fn default() -> Self {
        Self { backend: Backend::Auto, device: None, turn: 0, device_mb: None, cache_mb: 2048 }
    }
}

impl BackendOptions {
    /// Opens it; with a GPU, what a plan has to know of it comes along.
    ///
    /// # Errors
    /// No GPU where one is asked for, or options of a GPU for the CPU.
    pub fn open(&self, observer: &mut dyn Observer) -> Result<(Box<dyn EStep>, Option<Device>)> {
        if self.backend == Backend::Cpu {
            let of_gpu = self.device.as_ref().map(|device| format!("`device` {device}"));
            return match of_gpu.or(self.device_mb.map(|mb| format!("`device_mb` {mb}"))) {
                Some(option) => Err(Error::Usage(format!("{option} makes no sense with `backend` cpu"))),
                None => Ok((Box::new(CpuEStep::new()), None)),
            };
        }
        let wanted = self.backend == Backend::Gpu || self.device.is_some();
        match self.open_gpu(wanted, observer) {
            Err(error) if !wanted => {
                observer.says(Level::Warning, &format!("{error}; computing on the CPU"));
                Ok((Box::new(CpuEStep::new()), None))
            }
            Ok(None) => {
                observer.says(Level::Detail, "no GPU found: computing on the CPU");
                Ok((Box::new(CpuEStep::new()), None))
            }
            Ok(Some((estep, device))) => Ok((estep, Some(device))),
            Err(error) => Err(error),
        }
    }

    /// Opens a GPU; none if there is none to be taken without being asked for.
    #[cfg(feature = "gpu")]
    fn open_gpu(
        &self,
        wanted: bool,
        observer: &mut dyn Observer,
    ) -> Result<Option<(Box<dyn EStep>, Device)>> {
        use crate::estep::device::{DeviceEStep, DeviceOptions, Machine};
        use crate::estep::gpu::{GpuMachine, GpuOptions, list_adapters};
        if !wanted && !list_adapters().iter().any(|adapter| adapter.automatic) {
            return Ok(None);
        }
        let max_bytes = self.device_mb.map(|mb| mb.saturating_mul(1 << 20));
        let (device, turn, default) = (self.device.clone(), self.turn, DeviceOptions::default());
        let machine = GpuMachine::open(GpuOptions { device, turn, max_bytes, ..GpuOptions::default() })?;
        observer.says(Level::Info, &format!("computing on {}", machine.name()));
        let software = !machine.is_hardware();
        let cache_bytes = self.cache_mb.saturating_mul(1 << 20);
        let resident_bytes = match (self.cache_mb, max_bytes) {
            (0, _) => 0,
            (_, Some(max_bytes)) => max_bytes,
            // Software's memory is the host's, where the packed documents are already.
            (_, None) if software => 0,
            (_, None) => default.resident_bytes,
        };
        let device = Device { cache_bytes: cache_bytes as u64, resident_bytes, max_bytes, software };
        let mut estep = DeviceEStep::new(machine, DeviceOptions { cache_bytes, resident_bytes, ..default });
        if let Some(mut warn) = observer.warner() {
            estep.on_warning(move |message| warn(message));
        }
        Ok(Some((Box::new(estep), device)))
    }

    /// Without the feature there is none.
    #[cfg(not(feature = "gpu"))]
    fn open_gpu(&self, wanted: bool, _: &mut dyn Observer) -> Result<Option<(Box<dyn EStep>, Device)>> {
        match wanted {
            true => Err(Error::Device(
                "noisyor was built without the feature gpu; use `backend` cpu, or build it with that".into(),
            )),
            false => Ok(None),
        }
    }
}
