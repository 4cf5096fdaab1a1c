//! Adapters: which there are, and which one to take.

use crate::error::{Error, Result};
use wgpu::{Adapter, Backends, DeviceType, Instance, InstanceDescriptor};

/// An adapter, as people know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterSummary {
    /// Name.
    pub name: String,
    /// Discrete, integrated, virtual, software or other.
    pub kind: &'static str,
    /// Vulkan, Metal or Dx12.
    pub api: String,
    /// Driver and its version.
    pub driver: String,
    /// Largest storage binding in bytes: no array can be larger.
    pub max_array_bytes: u64,
    /// Largest buffer in bytes.
    pub max_buffer_bytes: u64,
    /// Whether kernel times can be measured on the device.
    pub timestamps: bool,
    /// Whether it may be taken without being asked for: the best that is hardware.
    pub automatic: bool,
}

/// All adapters, the best first.
pub(super) fn adapters() -> Vec<Adapter> {
    let instance = Instance::new(InstanceDescriptor::new_without_display_handle());
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::PRIMARY));
    adapters.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    adapters
}

fn rank(kind: DeviceType) -> u8 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

/// A software adapter is taken only when asked for.
pub(super) fn is_hardware(adapter: &Adapter) -> bool {
    adapter.get_info().device_type != DeviceType::Cpu
}

/// What there is, in the order of their numbers.
pub fn list_adapters() -> Vec<AdapterSummary> {
    let mut taken = false;
    adapters()
        .iter()
        .map(|adapter| {
            let (info, limits) = (adapter.get_info(), adapter.limits());
            let automatic = !taken && is_hardware(adapter);
            taken |= automatic;
            AdapterSummary {
                kind: match info.device_type {
                    DeviceType::DiscreteGpu => "discrete",
                    DeviceType::IntegratedGpu => "integrated",
                    DeviceType::VirtualGpu => "virtual",
                    DeviceType::Cpu => "software",
                    DeviceType::Other => "other",
                },
                api: format!("{:?}", info.backend),
                driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
                name: info.name,
                max_array_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
                max_buffer_bytes: limits.max_buffer_size,
                timestamps: adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY),
                automatic,
            }
        })
        .collect()
}

/// The adapter whose turn it is, of those that are like the first one asked for; none stands for one that is not asked for.
///
/// Ranks wait for the slowest: a card shared by two is better than one of two on a slower kind.
fn alike<K: PartialEq>(kinds: &[Option<K>], turn: usize) -> Option<usize> {
    let first = kinds.iter().flatten().next()?;
    let alike: Vec<usize> = (0..kinds.len()).filter(|&at| kinds[at].as_ref() == Some(first)).collect();
    alike.get(turn % alike.len()).copied()
}

/// The adapter that `wanted` names, by its number or a part of its name; else the best. Of several that are alike, the one whose `turn` it
/// is.
pub(super) fn find_adapter(wanted: Option<&str>, turn: usize) -> Result<Adapter> {
    let adapters = adapters();
    if adapters.is_empty() {
        return Err(Error::Device(
            "no GPU adapter was found; install your card's Vulkan driver (software rendering on Debian and Ubuntu: \
             apt-get install mesa-vulkan-drivers), or use `backend` cpu"
                .into(),
        ));
    }
    let name = |adapter: &Adapter| adapter.get_info().name;
    let names: Vec<String> =
        adapters.iter().enumerate().map(|(number, adapter)| format!("{number}: {}", name(adapter))).collect();
    // A number that is none of theirs may be part of a name: "4090".
    let number = wanted.and_then(|wanted| wanted.parse::<usize>().ok()).filter(|&at| at < names.len());
    let lower = wanted.unwrap_or("").to_lowercase();
    let named = |adapter: &Adapter| {
        wanted.is_none() || !lower.is_empty() && name(adapter).to_lowercase().contains(&lower)
    };
    let kinds: Vec<_> = adapters
        .iter()
        .map(|adapter| {
            named(adapter).then(|| adapter.get_info()).map(|info| (info.device_type, info.backend))
        })
        .collect();
    let at = number.or_else(|| alike(&kinds, turn));
    at.and_then(|at| adapters.into_iter().nth(at)).ok_or_else(|| {
        Error::Device(format!(
            "no adapter is called '{}'; there are {}",
            wanted.unwrap_or(""),
            names.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::alike;

    #[test]
    fn ranks_of_a_host_take_turns_with_adapters_of_one_kind() {
        let turns = |kinds: &[Option<char>]| (0..4).map(|turn| alike(kinds, turn)).collect::<Vec<_>>();
        assert_eq!(turns(&[Some('d'), Some('d'), Some('i')]), [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(
            turns(&[None, Some('i'), Some('d')]),
            [Some(1); 4],
            "the second is the first one asked for"
        );
        assert_eq!(turns(&[None]), [None; 4]);
        assert_eq!(turns(&[]), [None; 4]);
    }
}
