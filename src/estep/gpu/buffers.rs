//! Arrays on the device, and what a flight needs besides: bind groups, arguments, and room to read back.

use super::open::{Open, Pipeline};
use crate::estep::device::{Args, Array, Fault, Kernel, grown, grown_args, grown_staging};
use std::collections::HashMap;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferDescriptor,
    BufferUsages,
};

/// Arrays that belong together: the network, packed documents, or the state of a flight. Buffers grow and are never made smaller.
#[derive(Default)]
pub(super) struct Arrays(HashMap<Array, Buffer>);

impl Arrays {
    /// Bytes of all buffers.
    pub(super) fn n_bytes(&self) -> u64 {
        self.0.values().map(Buffer::size).sum()
    }

    pub(super) fn get(&self, array: Array) -> Option<&Buffer> {
        self.0.get(&array)
    }

    /// Makes room in an array; whether that took a new buffer, so that bind groups hold an old one.
    pub(super) fn reserve(
        &mut self,
        open: &Open,
        array: Array,
        n_bytes: u64,
        left: u64,
    ) -> Result<bool, Fault> {
        // No binding may be empty.
        let n_bytes = n_bytes.max(16);
        let old = self.0.get(&array).map_or(0, Buffer::size);
        if old >= n_bytes {
            return Ok(false);
        }
        let most = open.limits.max_storage_buffer_binding_size.min(open.limits.max_buffer_size);
        let size = grown(old, n_bytes).min(most).min(left + old).max(n_bytes);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        self.0.remove(&array);
        self.0.insert(array, create(open, array.name(), size, usage, left + old)?);
        Ok(true)
    }
}

/// The state of a flight, and what its submissions take.
#[derive(Default)]
pub(super) struct Set {
    pub(super) state: Arrays,
    /// Bind groups, with the packed documents of this place.
    bind_groups: HashMap<&'static str, BindGroup>,
    packed: usize,
    pub(super) args: Option<Buffer>,
    pub(super) staging: Option<Buffer>,
}

impl Set {
    /// Bytes of all buffers.
    pub(super) fn n_bytes(&self) -> u64 {
        self.state.n_bytes() + self.args.iter().chain(&self.staging).map(Buffer::size).sum::<u64>()
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
            self.unbind();
        }
        if self.staging.as_ref().map_or(0, Buffer::size) < staging {
            let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
            let old = self.staging.as_ref().map_or(0, Buffer::size);
            self.staging = Some(create(open, "staging", grown_staging(staging), usage, left + old)?);
        }
        Ok(())
    }

    /// The packed documents that are bound from now on.
    pub(super) fn take(&mut self, packed: usize) {
        if self.packed != packed {
            self.packed = packed;
            self.unbind();
        }
    }

    /// The kernel's arrays, bound: `others` has those that are not part of the state.
    pub(super) fn bind(
        &mut self,
        open: &Open,
        kernel: &'static Kernel,
        pipeline: &Pipeline,
        others: [Option<&Arrays>; 2],
    ) -> Result<&BindGroup, Fault> {
        if !self.bind_groups.contains_key(kernel.name) {
            let missing = |name: &str| Fault::Refused(format!("{}: no array '{name}'", kernel.name));
            let args = self.args.as_ref().ok_or_else(|| missing("args"))?;
            let size = std::num::NonZeroU64::new(size_of::<Args>() as u64);
            let args = BindingResource::Buffer(BufferBinding { buffer: args, offset: 0, size });
            let mut entries = vec![BindGroupEntry { binding: 0, resource: args }];
            for (at, (array, _)) in kernel.arrays.iter().enumerate() {
                let mut all = others.into_iter().flatten().chain([&self.state]);
                let buffer =
                    all.find_map(|arrays| arrays.get(*array)).ok_or_else(|| missing(array.name()))?;
                let resource = buffer.as_entire_binding();
                entries.push(BindGroupEntry { binding: at as u32 + 1, resource });
            }
            let descriptor =
                BindGroupDescriptor { label: Some(kernel.name), layout: &pipeline.layout, entries: &entries };
            let group = open.guarded(|device| device.create_bind_group(&descriptor))?;
            self.bind_groups.insert(kernel.name, group);
        }
        Ok(&self.bind_groups[kernel.name])
    }

    /// Forgets bind groups, which may hold old buffers.
    pub(super) fn unbind(&mut self) {
        self.bind_groups.clear();
    }
}

pub(super) fn create(
    open: &Open,
    label: &str,
    size: u64,
    usage: BufferUsages,
    left: u64,
) -> Result<Buffer, Fault> {
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
