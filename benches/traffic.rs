//! Bytes that kernels move, counted by running their WGSL in an interpreter under a model of caches; no card is needed.
//!
//! `cargo bench --bench traffic -- dblp 200`: a preset, or `sample`, and how many documents

mod common;
#[path = "../tests/gpu/interpreter/mod.rs"]
mod interpreter;
#[path = "../tests/gpu/meter/mod.rs"]
mod meter;

use common::Case;
use meter::{MeterMachine, Table};
use noisyor::corpus::align;
use noisyor::estep::device::{DeviceEStep, DeviceOptions, Route};
use noisyor::estep::{EStep, EStepOptions, Monitor, Params, Start, Work};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let name = arguments.first().map_or("dblp", String::as_str);
    let n_docs = arguments.get(1).map_or(100, |n| n.parse().expect("a number of documents"));
    let case = if name == "sample" { Case::sample() } else { Case::preset(name, n_docs) };
    for start in [Start::Plain, Start::Greedy] {
        for route in Route::ALL {
            let table = count(&case, n_docs, start, route);
            println!("{name}, {n_docs} documents, {start:?} start, {}\n{table}", route.name());
        }
    }
}

fn count(case: &Case, n_docs: usize, start: Start, route: Route) -> Table {
    let (graph, options) = (&case.network.graph, &EStepOptions { start, ..EStepOptions::default() });
    let params = &Params::derive(graph, &case.network.weights, options.bound).expect("good weights");
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let items = case.items();
    let work = Work {
        graph,
        params,
        docs: alignment.docs(&case.corpus),
        items: &items[..n_docs.min(items.len())],
        options,
        gradients: true,
        kept_on: None,
        monitor: &Monitor::default(),
    };
    let options = DeviceOptions { route: Some(route), ..DeviceOptions::default() };
    let mut estep = DeviceEStep::new(MeterMachine::new(), options);
    estep.on_warning(|warning| panic!("{warning}"));
    let stats = estep.run(&work, None).expect("an E-step");
    Table::take(&mut estep, &stats)
}
