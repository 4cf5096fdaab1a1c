//! tests/golden/moments, to the tolerances of its README.

use super::{FIRST, edge_number, graph_of, learn, schedule_of, weights_of};
use crate::common::{F64, assert_close, floats, golden_file};
use noisyor::corpus::{Corpus, align};
use noisyor::moments::formula::{pair, triplet};
use noisyor::moments::{
    Certificate, Counts, Estimate, Exact, Kind, Learned, Schedule, ScheduleOptions, Source, Table,
    UnknownTopic, Unknowns, Weighting,
};
use noisyor::{Graph, Monitor, Weights};
use serde_json::Value;

/// The clean-up by a grid and Newton's method, as the README has it.
const CLEAN_UP: f64 = 1e-8;

struct Golden {
    name: String,
    value: Value,
    graph: Graph,
    edges: Vec<(u32, u32)>,
    truth: Weights,
}

fn goldens(file: &str) -> Vec<Golden> {
    golden_file(&format!("moments/{file}.json")).as_array().unwrap().iter().map(golden).collect()
}

fn golden(value: &Value) -> Golden {
    let edges: Vec<(u32, u32)> = numbers(&value["edges"]).iter().map(|e| (e[0], e[1])).collect();
    let truth = &value["truth"];
    let (p, f, f0) = (floats(&truth["p"]), floats(&truth["f"]), floats(&truth["f0"]));
    let graph = graph_of(p.len(), f0.len(), &edges);
    let failures: Vec<_> = edges.iter().zip(&f).map(|(&(i, j), &f)| (i, j, f)).collect();
    let truth = weights_of(&graph, &p, &failures, &f0);
    Golden { name: value["name"].as_str().unwrap().to_owned(), value: value.clone(), graph, edges, truth }
}

fn numbers(value: &Value) -> Vec<Vec<u32>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

fn list(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as u32).collect()
}

impl Golden {
    /// The steps of a schedule, as the file has them.
    fn assert_steps(&self, schedule: &Schedule, golden: &Value) {
        let want = golden["steps"].as_array().unwrap();
        assert_eq!(schedule.steps.len(), want.len(), "{}", self.name);
        for (step, want) in schedule.steps.iter().zip(want) {
            let (tokens, n) = step.tokens(step.sets[0]);
            let kind = if step.kind == Kind::Pair { "pair" } else { "triplet" };
            assert_eq!(want["kind"], kind, "{} {want}", self.name);
            let numbers = [step.round, step.topic, step.token];
            assert_eq!(numbers, ["round", "parent", "learns"].map(|key| want[key].as_u64().unwrap() as u32));
            assert_eq!(tokens[..n], list(&want["set"]), "{} {want}", self.name);
        }
        let left = |edge: &Option<u32>| edge.is_none();
        assert_eq!(
            schedule.edge_round.iter().filter(|edge| left(edge)).count(),
            golden["left"]["edges"].as_array().unwrap().len()
        );
        let priors: Vec<u32> = (0..self.graph.n_topics() as u32)
            .filter(|&t| schedule.prior_round[t as usize].is_none())
            .collect();
        assert_eq!(priors, list(&golden["left"]["priors"]));
        let leaks: Vec<u32> = (0..self.graph.n_tokens() as u32)
            .filter(|&token| !schedule.learns_leak(&self.graph, token as usize))
            .collect();
        assert_eq!(leaks, list(&golden["left"]["noise"]));
    }

    fn assert_learned(&self, learned: &Learned, want: &Value, of: impl Fn(&Estimate) -> f64, tolerance: f64) {
        let check = |what: &str, got: Option<&Estimate>, want: &Value| match (got, want.as_f64()) {
            (Some(got), Some(want)) => {
                assert_close(&format!("{} {what}", self.name), of(got), want, tolerance)
            }
            (got, want) => assert_eq!((got.is_none(), want), (true, None), "{} {what}", self.name),
        };
        for (topic, prior) in learned.prior.iter().enumerate() {
            check(&format!("p {topic}"), prior.as_ref(), &want["p"][topic]);
        }
        for (at, &(topic, token)) in self.edges.iter().enumerate() {
            let failure = &learned.failure[edge_number(&self.graph, topic, token)];
            check(&format!("f {topic} {token}"), failure.as_ref(), &want["f"][at]);
        }
        for (token, leak) in learned.leak_failure.iter().enumerate() {
            check(&format!("f0 {token}"), leak.as_ref(), &want["f0"][token]);
        }
    }

    fn corpus(&self) -> Corpus {
        let rows = numbers(&self.value["rows"]);
        let counts = list(&self.value["counts"]);
        // Identical documents come together: groups must not depend on their order.
        let docs = rows.iter().zip(counts).flat_map(|(row, n)| vec![row.clone(); n as usize]);
        let mut corpus = Corpus::from_tokens(docs);
        corpus.set_token_names((0..self.graph.n_tokens()).map(|token| token.to_string()));
        corpus
    }

    fn counts(&self, schedule: &Schedule) -> Counts {
        let corpus = self.corpus();
        let names: Vec<String> = (0..self.graph.n_tokens()).map(|token| token.to_string()).collect();
        let alignment = align(&corpus, &names);
        Counts::of(&alignment.docs(&corpus), 0..corpus.n_docs(), names.len(), schedule, &Monitor::default())
            .unwrap()
    }
}

#[test]
fn decompositions() {
    let file = golden_file("moments/e_decomposition.json");
    for want in file["triplets"].as_array().unwrap() {
        let m = floats(&want["moments"]);
        // Every token as the first.
        for (first, [a, b, c, ab, ac, bc]) in
            [[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 5, 4], [2, 0, 1, 4, 5, 3]].into_iter().enumerate()
        {
            let got = triplet(&[1.0, m[a], m[b], m[ab], m[c], m[ac], m[bc], m[6]]);
            assert_eq!(got.degenerate, want["degenerate"].as_bool().unwrap());
            let tolerance = if got.degenerate { 1e-6 } else { F64 };
            assert_close("p", got.prior.value, want["p"].as_f64().unwrap(), tolerance);
            for (value, key) in [(got.failure.value, "f"), (got.off, "g")] {
                let want = want[key][first].as_f64().unwrap();
                assert!((value - want).abs() <= tolerance * want.abs().max(1.0), "{key}: {value} {want}");
            }
        }
    }
    for want in file["pairs"].as_array().unwrap() {
        let number = |key: &str| want[key].as_f64().unwrap();
        let got = pair(&[1.0, 1.0, 1.0, number("rho"), 1.0, 1.0, 1.0, 1.0], number("p"), number("f_known"));
        assert_close("f", got.failure.value, number("f"), F64);
    }
}

#[test]
fn exact_moments_give_back_the_network() {
    for golden in goldens("a_exact") {
        let exact = Exact::new(&golden.graph, &golden.truth);
        for moment in golden.value["moments"].as_array().unwrap() {
            assert_close("moment", exact.moment(&list(&moment[0])), moment[1].as_f64().unwrap(), F64);
        }
        for (pairs, key) in [(true, "triplets_and_pairs"), (false, "triplets_only")] {
            let want = &golden.value[key];
            let schedule = schedule_of(&golden.graph, &ScheduleOptions { pairs, ..FIRST });
            golden.assert_steps(&schedule, want);
            let learned = learn(&golden.graph, &schedule, &exact, Weighting::First);
            golden.assert_learned(&learned, &want["recovered"], |estimate| estimate.raw, F64);
        }
    }
}

#[test]
fn what_is_left_and_whether_moments_could_tell() {
    for golden in goldens("b_unlearnable") {
        let schedule = schedule_of(&golden.graph, &FIRST);
        golden.assert_steps(&schedule, &golden.value);
        let exact = Exact::new(&golden.graph, &golden.truth);
        let learned = learn(&golden.graph, &schedule, &exact, Weighting::First);
        golden.assert_learned(&learned, &golden.value["recovered"], |estimate| estimate.raw, F64);

        let certificate = Certificate::of(&golden.graph, &schedule).unwrap();
        assert!(!certificate.complete && certificate.left.len() == 1, "{}", golden.name);
        let (left, want) = (&certificate.left[0], &golden.value["jacobian_of_the_left"]);
        assert_eq!(left.unknowns as u64, want["unknowns"].as_u64().unwrap());
        let ranks: Vec<usize> = want["trace"].as_array().unwrap().iter().take(3).map(rank).collect();
        let own = left.ranks.clone().unwrap();
        // Two tokens have no moments of third order.
        assert_eq!(own, ranks[..own.len()], "{}", golden.name);
        assert_eq!(own.last(), ranks.last(), "{}", golden.name);
        assert_eq!(left.identified_at().map_or(-1, |order| order as i64), want["order"].as_i64().unwrap());
    }
}

fn rank(at: &Value) -> usize {
    at["rank"].as_u64().unwrap() as usize
}

#[test]
fn the_clean_up_finds_what_no_triplet_gives() {
    for golden in goldens("b_unlearnable") {
        let schedule = schedule_of(&golden.graph, &ScheduleOptions { anchors: true, ..FIRST });
        let exact = Exact::new(&golden.graph, &golden.truth);
        let learned = learn(&golden.graph, &schedule, &exact, Weighting::First);
        let want =
            golden.value.get("cleanup").map_or(&golden.value["truth"], |cleanup| &cleanup["recovered"]);
        match golden.name.as_str() {
            // No token has a single unknown parent; or too few tokens.
            "complete_2x4" | "two_child_parent" => {
                assert!(learned.failure.iter().any(Option::is_none), "{}", golden.name)
            }
            _ => golden.assert_learned(&learned, want, |estimate| estimate.value, CLEAN_UP),
        }
    }
}

#[test]
fn sampled_documents_by_the_first_triplet() {
    for golden in goldens("c_sampled") {
        for (pairs, key) in [(true, "triplets_and_pairs"), (false, "triplets_only")] {
            let want = &golden.value[key];
            let schedule = schedule_of(&golden.graph, &ScheduleOptions { pairs, ..FIRST });
            golden.assert_steps(&schedule, want);
            let learned = learn(&golden.graph, &schedule, &golden.counts(&schedule), Weighting::First);
            golden.assert_learned(&learned, &want["estimate"], |estimate| estimate.value, F64);
            for (step, want) in schedule.steps.iter().zip(want["steps"].as_array().unwrap()) {
                let got = learned.failure[step.edge].as_ref().unwrap();
                let raw = want["raw_f"].as_f64().unwrap();
                let tolerance = if want["degenerate"] == true { 1e-6 } else { F64 };
                assert!((got.raw - raw).abs() <= tolerance * raw.abs().max(1.0), "{} {raw}", golden.name);
                assert_eq!(got.is_clipped(), want["clipped"].as_bool().unwrap());
                if want["degenerate"] == true {
                    assert!(got.degenerate && got.se.is_infinite(), "{} {want}", golden.name);
                }
            }
        }
    }
}

/// Averages at depth 0 have the same weights as the file's; deeper ones differ, because the file's variances know correlations. Standard
/// errors come from 32 groups here and from single documents there: one of 32 groups is good to 13 %, so 4 of these.
#[test]
fn averages_by_inverse_variance() {
    let options = ScheduleOptions { max_sets: 64, ..FIRST };
    for golden in goldens("c_sampled").iter().filter(|golden| golden.name != "rare_parents") {
        let schedule = schedule_of(&golden.graph, &options);
        let learned = learn(&golden.graph, &schedule, &golden.counts(&schedule), Weighting::Average);
        let want = &golden.value["inverse_variance"];
        for (at, &(topic, token)) in golden.edges.iter().enumerate() {
            let edge = edge_number(&golden.graph, topic, token);
            let got = learned.failure[edge].as_ref().unwrap();
            let (value, se) =
                (want["estimate"]["f"][at].as_f64().unwrap(), want["se_f"][at].as_f64().unwrap());
            if schedule.edge_round[edge] == Some(0) {
                assert_close(&format!("{} f {topic} {token}", golden.name), got.value, value, 1e-7);
            }
            assert!(
                (got.value - value).abs() < 0.5 * se,
                "{} f {topic} {token}: {} {value}",
                golden.name,
                got.value
            );
            assert!((got.se / se - 1.0).abs() < 0.52, "{} se {topic} {token}: {} {se}", golden.name, got.se);
        }
    }
}

#[test]
fn table_1_of_the_paper() {
    let file = golden_file("moments/d_identifiability.json");
    for cell in file["cells"].as_array().unwrap() {
        let number = |key: &str| cell[key].as_u64().unwrap() as usize;
        let (n, m) = (number("parents"), number("symptoms"));
        let topics =
            vec![UnknownTopic { prior: true, edges: (0..m).map(|token| (token, true)).collect() }; n];
        let complete = Unknowns { topics, leaks: vec![true; m] };
        assert_eq!(complete.n_unknown(), number("unknowns"));
        let want: Vec<usize> = cell["trace"].as_array().unwrap().iter().map(rank).collect();
        assert_eq!(complete.ranks(m), want, "{n} x {m}");
        let order = if want.last() == Some(&number("unknowns")) { want.len() as i64 } else { -1 };
        assert_eq!(Some(order), file["paper"][n - 1][m - 1].as_i64());
    }
}

/// Counting is exact: the shares of the file's rows.
#[test]
fn counts_are_those_of_the_documents() {
    let golden = &goldens("c_sampled")[0];
    let schedule = schedule_of(&golden.graph, &FIRST);
    let counts = golden.counts(&schedule);
    let (rows, n_rows) = (numbers(&golden.value["rows"]), list(&golden.value["counts"]));
    for step in &schedule.steps {
        let (tokens, n) = step.tokens(step.sets[0]);
        let mut table = Table::default();
        counts.table(&tokens[..n], &mut table);
        for mask in 1..1usize << n {
            let hit = |row: &[u32]| {
                tokens[..n].iter().enumerate().any(|(at, t)| mask >> at & 1 == 1 && row.contains(t))
            };
            let without: u32 = rows.iter().zip(&n_rows).filter(|(row, _)| !hit(row)).map(|(_, n)| n).sum();
            assert_eq!(table.moments[mask], f64::from(without) / 10_000.0);
            assert_eq!(table.known[mask], 10_000.0);
        }
    }
}
