//! Kernels and Rust agree on bindings, records, constants and names: what a GPU would not complain about, only misread.
#![allow(clippy::unwrap_used)]

use bytemuck::Zeroable;
use naga::{AddressSpace, Expression, Literal, Module, ScalarKind, StorageAccess, TypeInner};
use noisyor::batch::{DocRecord, EdgeRecord, NodeRecord, TouchedRecord};
use noisyor::estep::PULL;
use noisyor::estep::cpu::{GROWTH, HOPE, MIN_GAIN, Q_ON};
use noisyor::estep::device::marks::{CLAMPED_OFF, CLAMPED_ON};
use noisyor::estep::device::{Access, Args, Array, EdgeState, KERNELS, Kernel, Lanes, WORKGROUP};
use noisyor::numeric::{G_MIN, R_MIN, X_CAP};
use std::collections::BTreeSet;
use std::mem::offset_of;
use std::path::{Path, PathBuf};

/// Every kernel in all its variants, parsed.
fn modules() -> impl Iterator<Item = (&'static Kernel, Lanes, Module)> {
    KERNELS.into_iter().flat_map(|kernel| kernel.lanes().iter().map(move |&lanes| (kernel, lanes))).map(
        |(kernel, lanes)| {
            let source = kernel.source(lanes);
            let module = naga::front::wgsl::parse_str(&source)
                .unwrap_or_else(|e| panic!("{kernel:?} {lanes:?}: {}", e.emit_to_string(&source)));
            (kernel, lanes, module)
        },
    )
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The stems of a folder's WGSL files.
fn shaders(path: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder(path)).unwrap().map(|entry| entry.unwrap().path());
    let shaders = files.filter(|file| file.extension().is_some_and(|extension| extension == "wgsl"));
    shaders.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// A source without its comments, word by word.
fn words(source: &str) -> Vec<&str> {
    let code = source.lines().map(|line| line.split("//").next().unwrap());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

// Bindings.

#[test]
fn bindings_are_the_arguments_and_then_the_kernels_arrays() {
    for (kernel, lanes, module) in modules() {
        let mut bindings: Vec<(u32, u32, String, AddressSpace)> = module
            .global_variables
            .iter()
            .filter_map(|(_, global)| {
                let at = global.binding?;
                Some((at.group, at.binding, global.name.clone().unwrap(), global.space))
            })
            .collect();
        bindings.sort_by_key(|binding| (binding.0, binding.1));
        let mut expected = vec![(0, 0, "args".to_owned(), AddressSpace::Uniform)];
        expected.extend(kernel.arrays.iter().zip(1..).map(|((array, access), binding)| {
            let access = match access {
                Access::Read => StorageAccess::LOAD,
                Access::Write | Access::Share => StorageAccess::LOAD | StorageAccess::STORE,
            };
            (0, binding, array.name().to_owned(), AddressSpace::Storage { access })
        }));
        assert_eq!(bindings, expected, "{kernel:?} {lanes:?}");
    }
}

#[test]
fn kernels_write_no_input() {
    let inputs = [
        Array::Network,
        Array::Docs,
        Array::Nodes,
        Array::Edges,
        Array::Rows,
        Array::Touched,
        Array::EdgeOwners,
        Array::Positions,
    ];
    for kernel in KERNELS {
        let written = kernel.arrays.iter().filter(|(_, access)| *access != Access::Read);
        written.for_each(|(array, _)| assert!(!inputs.contains(array), "{kernel:?} writes {array:?}"));
    }
}

#[test]
fn no_kernel_has_more_storage_bindings_than_every_adapter_allows() {
    // WebGPU's default of maxStorageBuffersPerShaderStage.
    KERNELS.into_iter().for_each(|kernel| assert!(kernel.arrays.len() <= 8, "{kernel:?}"));
}

// Records.

/// A record as Rust has it: name, bytes, and of each member the name, place and type.
type Record = (&'static str, usize, Vec<(&'static str, usize, &'static str)>);

macro_rules! record {
    ($record:ident { $($member:ident),* $(,)? }) => {{
        // Taken apart, so that no member can be left out.
        let $record { $($member),* } = $record::zeroed();
        let members = vec![$((stringify!($member), offset_of!($record, $member), type_name(&$member))),*];
        (stringify!($record), size_of::<$record>(), members)
    }};
}

fn type_name<T>(_: &T) -> &'static str {
    std::any::type_name::<T>()
}

fn records() -> Vec<Record> {
    vec![
        record!(Args {
            row_begin,
            n_rows,
            groups_x,
            n_nodes,
            params_begin,
            n_topics,
            alternation,
            accelerate,
            tolerance,
            inverse_temperature,
            q_start,
            pieces,
            n_steps,
            n_levels,
            q_sweeps,
            r_iterations,
            n_edges,
        }),
        record!(DocRecord { node_begin, token_begin, edge_begin, count }),
        record!(NodeRecord { id, edge_begin, slot_begin, doc_ix }),
        record!(EdgeRecord { parent, slot }),
        record!(TouchedRecord { position_begin, edge_begin }),
        record!(EdgeState { r, term }),
    ]
}

fn wgsl_name(inner: &TypeInner) -> &'static str {
    match inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) if scalar.width == 4 => match scalar.kind {
            ScalarKind::Uint => "u32",
            ScalarKind::Float => "f32",
            other => panic!("{other:?} in memory"),
        },
        TypeInner::Vector { size: naga::VectorSize::Bi, scalar } if scalar.width == 4 => match scalar.kind {
            ScalarKind::Uint => "[u32; 2]",
            ScalarKind::Float => "[f32; 2]",
            other => panic!("{other:?} in memory"),
        },
        other => panic!("{other:?} in memory"),
    }
}

#[test]
fn structs_are_the_rust_records_member_by_member() {
    for (kernel, lanes, module) in modules() {
        for (name, n_bytes, members) in records() {
            let mut types = module.types.iter().map(|(_, found)| found);
            let found = types.find(|found| found.name.as_deref() == Some(name));
            let Some(TypeInner::Struct { members: found, span }) = found.map(|found| &found.inner) else {
                panic!("{kernel:?} {lanes:?}: no struct {name}");
            };
            let found: Vec<(&str, usize, &str)> = found
                .iter()
                .map(|member| {
                    let inner = &module.types[member.ty].inner;
                    (member.name.as_deref().unwrap(), member.offset as usize, wgsl_name(inner))
                })
                .collect();
            assert_eq!((found, *span as usize), (members, n_bytes), "{kernel:?} {lanes:?}: {name}");
        }
    }
}

/// The type and the size of an array's elements, as Rust has them.
fn element(array: Array) -> (&'static str, usize) {
    fn of<T>() -> (&'static str, usize) {
        let path = std::any::type_name::<T>();
        (path.rsplit("::").next().unwrap(), size_of::<T>())
    }
    match array {
        Array::Rows => of::<[u32; 2]>(),
        Array::Network | Array::EdgeOwners | Array::Positions | Array::DocState => of::<u32>(),
        Array::NodeState | Array::Slots | Array::DocBounds | Array::EdgeTotals | Array::Kept => of::<f32>(),
        Array::Docs => of::<DocRecord>(),
        Array::Nodes => of::<NodeRecord>(),
        Array::Edges => of::<EdgeRecord>(),
        Array::Touched => of::<TouchedRecord>(),
        Array::EdgeState => of::<EdgeState>(),
        Array::NodeTotals => of::<[f32; 2]>(),
    }
}

#[test]
fn arrays_hold_the_rust_elements_at_their_stride() {
    for (kernel, lanes, module) in modules() {
        for (_, global) in module.global_variables.iter() {
            let AddressSpace::Storage { .. } = global.space else { continue };
            let name = global.name.as_deref().unwrap();
            let array = Array::ALL.into_iter().find(|array| array.name() == name).unwrap();
            let TypeInner::Array { base, stride, .. } = module.types[global.ty].inner else {
                panic!("{kernel:?} {lanes:?}: {name} is no array");
            };
            let base = &module.types[base];
            let found = match &base.inner {
                TypeInner::Struct { .. } => base.name.as_deref().unwrap(),
                inner => wgsl_name(inner),
            };
            assert_eq!((found, stride as usize), element(array), "{kernel:?} {lanes:?}: {name}");
        }
    }
}

// Constants and names.

fn constant(module: &Module, name: &str) -> Option<f64> {
    let (_, constant) = module.constants.iter().find(|(_, other)| other.name.as_deref() == Some(name))?;
    Some(match module.global_expressions[constant.init] {
        Expression::Literal(Literal::F32(value)) => f64::from(value),
        Expression::Literal(Literal::U32(value)) => f64::from(value),
        ref other => panic!("{name} is {other:?}"),
    })
}

/// They are printed in decimals, and read again.
#[test]
fn constants_are_the_rust_ones_to_the_bit() {
    let expected = [
        ("WORKGROUP", f64::from(WORKGROUP)),
        ("X_CAP", f64::from(X_CAP)),
        ("R_MIN", f64::from(R_MIN)),
        ("G_MIN", f64::from(G_MIN)),
        ("GROWTH", f64::from(GROWTH)),
        ("MIN_GAIN", f64::from(MIN_GAIN)),
        ("HOPE", f64::from(HOPE)),
        ("Q_ON", f64::from(Q_ON)),
        ("PULL", f64::from(PULL)),
        ("LOG2_E", f64::from(std::f32::consts::LOG2_E)),
        // ln 2 in two parts, the first with its low bits zero.
        ("LN2_HI", 0.693359375),
        ("LN2_LO", f64::from(-2.121_944_4e-4_f32)),
        ("CLAMPED_ON", f64::from(CLAMPED_ON)),
        ("CLAMPED_OFF", f64::from(CLAMPED_OFF)),
        ("CLAMPED", f64::from(CLAMPED_ON | CLAMPED_OFF)),
    ];
    for (kernel, lanes, module) in modules() {
        for (name, value) in expected {
            assert_eq!(constant(&module, name), Some(value), "{kernel:?} {lanes:?}: {name}");
        }
    }
}

#[test]
fn shaders_declare_no_array_and_no_number_of_their_own() {
    let of =
        |room: &str| shaders(room).into_iter().map(|name| format!("{room}/{name}.wgsl")).collect::<Vec<_>>();
    for name in of("shaders").iter().chain(&of("shaders/stream")) {
        let file = std::fs::read_to_string(folder(name)).unwrap();
        let code: String = words(&file).join(" ");
        assert!(!code.contains("binding") && !code.contains("const "), "{name}");
    }
}

#[test]
fn every_kernel_has_one_entry_point_by_its_name_and_whole_workgroups() {
    for (kernel, lanes, module) in modules() {
        let [entry] = &module.entry_points[..] else { panic!("{kernel:?} {lanes:?}: not one entry point") };
        assert_eq!(entry.name, kernel.name);
        assert_eq!(entry.stage, naga::ShaderStage::Compute);
        assert_eq!(entry.workgroup_size, [lanes.n_threads(), 1, 1], "{kernel:?} {lanes:?}");
    }
}

#[test]
fn every_kernel_has_its_file_and_its_twin_and_every_file_its_kernel() {
    let names: BTreeSet<String> = KERNELS.iter().map(|kernel| kernel.name.to_owned()).collect();
    assert_eq!(names.len(), KERNELS.len());
    assert_eq!(shaders("shaders"), names);
    let streams = |kernel: &&&Kernel| kernel.lanes().contains(&Lanes::Stream);
    let stream_names: BTreeSet<String> =
        KERNELS.iter().filter(streams).map(|kernel| kernel.name.to_owned()).collect();
    assert_eq!(shaders("shaders/stream"), stream_names);
    for kernel in KERNELS {
        for &lanes in kernel.lanes() {
            let room = if lanes == Lanes::Stream { "shaders/stream" } else { "shaders" };
            let file = std::fs::read_to_string(folder(room).join(format!("{}.wgsl", kernel.name))).unwrap();
            assert!(kernel.source(lanes).contains(&file), "{kernel:?} {lanes:?}");
        }
        assert!(folder("src/estep/device/twin").join(format!("{}.rs", kernel.name)).is_file(), "{kernel:?}");
    }
}

#[test]
fn every_shared_file_is_part_of_a_kernel() {
    let of = |kernel: &'static Kernel| kernel.lanes().iter().map(|&lanes| kernel.source(lanes));
    let sources: Vec<String> = KERNELS.into_iter().flat_map(of).collect();
    for name in shaders("shaders/shared") {
        let file = std::fs::read_to_string(folder("shaders/shared").join(format!("{name}.wgsl"))).unwrap();
        assert!(sources.iter().any(|source| source.contains(&file)), "{name}");
    }
}

#[test]
fn arrays_are_listed_once_and_have_names_of_their_own() {
    let names: BTreeSet<&str> = Array::ALL.iter().map(|array| array.name()).collect();
    assert_eq!(names.len(), Array::ALL.len());
    assert_eq!(Array::ALL.iter().collect::<BTreeSet<_>>().len(), Array::ALL.len());
}

// What not every adapter has.

#[test]
fn kernels_use_nothing_beyond_plain_wgsl() {
    for (kernel, lanes, module) in modules() {
        let source = kernel.source(lanes);
        for word in words(&source) {
            let optional =
                ["enable", "requires", "override", "immediate", "push_constant", "f16", "diagnostic"];
            assert!(!optional.contains(&word) && !word.contains("subgroup"), "{kernel:?} {lanes:?}: {word}");
        }
        assert!(module.overrides.is_empty(), "{kernel:?} {lanes:?}");
        for (_, found) in module.types.iter() {
            if let TypeInner::Atomic(scalar) = found.inner {
                assert_eq!((scalar.kind, scalar.width), (ScalarKind::Uint, 4), "{kernel:?} {lanes:?}");
            }
        }
    }
}

#[test]
fn workgroups_fit_every_adapter() {
    for (kernel, lanes, module) in modules() {
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let shared = module.global_variables.iter().filter(|(_, var)| var.space == AddressSpace::WorkGroup);
        let n_bytes: u32 = shared.map(|(_, var)| layouter[var.ty].size).sum();
        // 16,384 is WebGPU's default of maxComputeWorkgroupStorageSize; 256 of maxComputeInvocationsPerWorkgroup.
        assert!(n_bytes <= lanes.workgroup_bytes(), "{kernel:?} {lanes:?}: {n_bytes} bytes");
        assert_eq!(lanes.workgroup_bytes() > 16_384, lanes == Lanes::LargeBin);
        assert!(module.entry_points[0].workgroup_size.iter().product::<u32>() <= 256, "{kernel:?} {lanes:?}");
    }
}
