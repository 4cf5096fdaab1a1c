//! Every route through the kernels gives the same bytes.

use super::*;
use noisyor::estep::Monitor;
use noisyor::estep::device::{Array, Dispatch, Fault, Machine, Place, Read, Route, Spent};

/// Documents that fit into bins of 16 KB, of 32 KB, and into none.
fn of_all_sizes() -> Case {
    let case = Case::preset("dblp", 60);
    let small = Route::SmallBins.bin_words() as usize;
    let sizes: Vec<usize> = (case.clone().by(Route::LargeBins).chunks().iter())
        .flat_map(|chunk| chunk.docs.windows(2).map(|doc| doc_words(doc[0], doc[1])).collect::<Vec<_>>())
        .collect();
    let large = Route::LargeBins.bin_words() as usize;
    assert!(sizes.iter().any(|&n| n <= small) && sizes.iter().any(|&n| n > small && n <= large), "{sizes:?}");
    case
}

fn doc_words(doc: noisyor::batch::DocRecord, next: noisyor::batch::DocRecord) -> usize {
    (next.node_begin - doc.node_begin + next.edge_begin - doc.edge_begin) as usize
}

/// Topics of 150 children among documents of a few words: rows too long for a bin.
fn long_rows() -> Case {
    let edges: Vec<_> =
        (0..300u32).map(|token| (token % 2, 3 + token, 0.3 + 1e-3 * f64::from(token))).collect();
    let above = [(2, 0, 0.5), (2, 1, 0.7)];
    let network = network_of(3, 300, &[&above[..], &edges].concat(), vec![0.05; 303]);
    let docs = (0..40u32).map(|doc| if doc % 5 == 0 { (0..300).collect() } else { (doc..doc + 9).collect() });
    Case::new("long rows", network, docs)
}

fn cases() -> Vec<Case> {
    let of = |start| EStepOptions { start, ..EStepOptions::default() };
    let sample = Case::sample(400);
    vec![
        sample.clone(),
        sample.clone().options(of(Start::Plain)),
        sample.clone().options(of(Start::Best)),
        sample.clone().options(of(Start::Tempered(Temper::default()))),
        sample.clone().options(EStepOptions { bound: Bound::Full, ..EStepOptions::default() }),
        sample.clone().options(EStepOptions { clamp: 2, ..EStepOptions::default() }),
        sample.options(EStepOptions::paper(Bound::Local)),
        of_all_sizes(),
        of_all_sizes().options(of(Start::Plain)),
        long_rows(),
        Case::new("empty", random_network(1, 10, 10), vec![Vec::new(); 5]),
    ]
}

fn assert_routes_agree<M: Machine>(machine: impl Fn() -> Option<M>) {
    for case in cases() {
        let mut first = None;
        for route in Route::ALL {
            let Some(machine) = machine() else { return };
            let case = case.clone().by(route);
            let ran = case.on_machine(machine);
            let (name, start) = (&case.name, case.options.start);
            assert!(*first.get_or_insert_with(|| ran.clone()) == ran, "{name}, {start:?}: {}", route.name());
        }
    }
}

#[test]
fn every_route_gives_the_same_bytes_on_twins() {
    assert_routes_agree(|| Some(TwinMachine::new()));
}

#[test]
fn every_route_gives_the_same_bytes_on_the_gpu() {
    assert_routes_agree(|| gpu_machine(GpuOptions::default()));
}

#[test]
fn the_routes_are_different_ones() {
    let kernels = |route: Route| {
        let case = Case::sample(300).by(route);
        let mut estep = untroubled(TwinMachine::new(), &case.device);
        case.on(&mut estep);
        let (spent, _) = estep.take_spent();
        spent.kernels.iter().map(|&(name, n, _)| (name, n)).collect::<Vec<_>>()
    };
    let [flat, stream, small, large] = Route::ALL.map(kernels);
    let has = |kernels: &[(&str, u64)], name| kernels.iter().any(|kernel| kernel.0 == name);
    assert!(has(&flat, "q_update") && !has(&flat, "alternate") && flat == stream);
    for bins in [small, large] {
        assert!(has(&bins, "alternate") && has(&bins, "search") && !has(&bins, "q_update"), "{bins:?}");
    }
}

/// Twins that leave the work of some lanes undone.
struct Uneven {
    inner: TwinMachine,
    idle: Option<Lanes>,
}

impl Machine for Uneven {
    fn name(&self) -> String {
        "uneven".to_owned()
    }

    fn max_array_bytes(&self) -> u64 {
        self.inner.max_array_bytes()
    }

    fn max_bytes(&self) -> Option<u64> {
        None
    }

    fn tries_routes(&self) -> bool {
        true
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.inner.reserve(place, array, n_bytes)
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.inner.write(place, array, at, bytes)
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        let works = |dispatch: &&Dispatch| Some(dispatch.lanes) != self.idle;
        let working: Vec<Dispatch> = dispatches.iter().filter(works).copied().collect();
        self.inner.submit(place, &working, reads)
    }

    fn start(&mut self, sets: &[usize]) -> Result<(), Fault> {
        self.inner.start(sets)
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        self.inner.wait(set)
    }

    fn release(&mut self, packed: usize) {
        self.inner.release(packed);
    }

    fn reopen(&mut self) -> noisyor::Result<()> {
        self.inner.reopen()
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    fn take_spent(&mut self) -> Spent {
        self.inner.take_spent()
    }
}

#[test]
fn a_route_with_other_results_is_not_taken() {
    let case = Case::sample(300);
    let want = case.on_twins();
    let taken = |idle| {
        let mut estep = untroubled(Uneven { inner: TwinMachine::new(), idle }, &case.device);
        assert_eq!(estep.route(), None);
        assert!(case.on(&mut estep) == want, "{idle:?}");
        estep.route().expect("a trial")
    };
    // All routes but the flat one take batches.
    assert_eq!(taken(Some(Lanes::Stream)), Route::Flat);
    assert_ne!(taken(Some(Lanes::SmallBin)), Route::SmallBins);
    assert_ne!(taken(Some(Lanes::LargeBin)), Route::LargeBins);
    taken(None);
}

#[test]
fn a_few_documents_are_not_worth_a_trial() {
    let machine = Uneven { inner: TwinMachine::new(), idle: None };
    let mut estep = untroubled(machine, &DeviceOptions::default());
    Case::sample(100).on(&mut estep);
    assert_eq!(estep.route(), None);
}

#[test]
fn a_gpu_chooses_among_the_routes_it_has_room_for() {
    let case = Case::sample(300);
    let options = GpuOptions { default_limits: true, ..GpuOptions::default() };
    let Some(gpu) = gpu_machine(options.clone()) else { return };
    let mut estep = untroubled(gpu, &case.device);
    case.on(&mut estep);
    assert!(estep.route().is_some_and(|route| route != Route::LargeBins), "{:?}", estep.route());
    let case = case.by(Route::LargeBins);
    let mut estep = untroubled(gpu_machine(options).unwrap(), &case.device);
    let error = case.try_on(&mut estep, &Monitor::default()).unwrap_err();
    assert!(error.to_string().contains("choose another `route`"), "{error}");
}
