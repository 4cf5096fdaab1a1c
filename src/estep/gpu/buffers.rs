//! One set of arrays on the device, reused from chunk to chunk: buffers grow and are never made smaller.

use super::open::{Open, Pipeline};
use crate::estep::device::{Args, Array, Fault, Kernel, grown, grown_args, grown_staging};
use std::collections::HashMap;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferDescriptor,
    BufferUsages,
};

/// A set of arrays.
#[derive(Default)]
pub(super) struct Set {
    arrays: HashMap<Array, Buffer>,
    bind_groups: HashMap<&'static str, BindGroup>,
    pub(super) args: Option<Buffer>,
    pub(super) staging: Option<Buffer>,
}

impl Set {
    /// Bytes of all buffers.
    pub(super) fn n_bytes(&self) -> u64 {
        let others = self.args.iter().chain(&self.staging);
        self.arrays.values().chain(others).map(Buffer::size).sum()
    }

    pub(super) fn array(&self, array: Array) -> Option<&Buffer> {
        self.arrays.get(&array)
    }

    /// Makes room in an array; bind groups that hold the old one are made anew.
    pub(super) fn reserve(
        &mut self,
        open: &Open,
        array: Array,
        n_bytes: u64,
        left: u64,
    ) -> Result<(), Fault> {
        // No binding may be empty.
        let n_bytes = n_bytes.max(16);
        let old = self.arrays.get(&array).map_or(0, Buffer::size);
        if old >= n_bytes {
            return Ok(());
        }
        let most = open.limits.max_storage_buffer_binding_size.min(open.limits.max_buffer_size);
        let spare = grown(n_bytes).min(most).min(left + old).max(n_bytes);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        self.arrays.remove(&array);
        self.bind_groups.clear();
        self.arrays.insert(array, create(open, array.name(), spare, usage, left + old)?);
        Ok(())
    }

    /// Makes room for arguments and for what is read back.
    pub(super) fn reserve_others(
        &mut self,
        open: &Open,
        args: u64,
        staging: u64,
        left: u64,
    ) -> Result<(), Fault> {
        if self.args.as_ref().map_or(0, Buffer::size) < args {
            let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
            let old = self.args.as_ref().map_or(0, Buffer::size);
            self.args = Some(create(open, "args", grown_args(args), usage, left + old)?);
            self.bind_groups.clear();
        }
        if self.staging.as_ref().map_or(0, Buffer::size) < staging {
            let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
            let old = self.staging.as_ref().map_or(0, Buffer::size);
            self.staging = Some(create(open, "staging", grown_staging(staging), usage, left + old)?);
        }
        Ok(())
    }

    /// The kernel's arrays, bound; the network comes from the set that holds it.
    pub(super) fn bind(
        &mut self,
        open: &Open,
        kernel: &'static Kernel,
        pipeline: &Pipeline,
        network: Option<&Buffer>,
    ) -> Result<&BindGroup, Fault> {
        if !self.bind_groups.contains_key(kernel.name) {
            let missing = |name: &str| Fault::Refused(format!("{}: no array '{name}'", kernel.name));
            let args = self.args.as_ref().ok_or_else(|| missing("args"))?;
            let size = std::num::NonZeroU64::new(size_of::<Args>() as u64);
            let args = BindingResource::Buffer(BufferBinding { buffer: args, offset: 0, size });
            let mut entries = vec![BindGroupEntry { binding: 0, resource: args }];
            for (at, (array, _)) in kernel.arrays.iter().enumerate() {
                let buffer = if *array == Array::Network { network } else { self.arrays.get(array) };
                let resource = buffer.ok_or_else(|| missing(array.name()))?.as_entire_binding();
                entries.push(BindGroupEntry { binding: at as u32 + 1, resource });
            }
            let descriptor =
                BindGroupDescriptor { label: Some(kernel.name), layout: &pipeline.layout, entries: &entries };
            let group = open.guarded(|device| device.create_bind_group(&descriptor))?;
            self.bind_groups.insert(kernel.name, group);
        }
        Ok(&self.bind_groups[kernel.name])
    }

    /// Forgets bind groups, which may hold an old network.
    pub(super) fn unbind(&mut self) {
        self.bind_groups.clear();
    }
}

fn create(open: &Open, label: &str, size: u64, usage: BufferUsages, left: u64) -> Result<Buffer, Fault> {
    if size > left {
        return Err(Fault::OutOfMemory(format!(
            "'{label}' needs {} MiB more than the device memory there is to use",
            (size - left).div_ceil(1 << 20)
        )));
    }
    open.guarded(|device| {
        let descriptor = BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        device.create_buffer(&descriptor)
    })
}
