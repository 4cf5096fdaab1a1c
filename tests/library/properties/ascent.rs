//! Ascent, update by update.

use super::*;

#[test]
fn f64_updates_of_whole_colours_never_lower_the_bound() {
    for (seed, network, docs) in random_cases(300, 20, 25) {
        let rng = &mut rng(seed);
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = vec![true; network.graph.n_topics()];
            let mut point = random_point(&network, &inside, rng);
            let colours = (0..3).flat_map(|_| 0..network.graph.n_colours());
            assert_ascends(&format!("seed {seed} colour"), &oracle, &mut point, colours, |p, c| {
                update_colour(&oracle, &inside, p, c)
            });
        }
    }
}

#[test]
fn fast_updates_never_lower_the_bound() {
    assert_fast_updates_ascend(|probe| probe.update_r());
    assert_fast_updates_ascend(|probe| probe.accelerate_r());
}

fn assert_fast_updates_ascend(update_r: fn(&mut Probe<'_>)) {
    for (seed, network, docs) in random_cases(200, 20, 25) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let params = Params::derive(&network.graph, &network.weights, Bound::Local).unwrap();
        for (doc, tokens) in docs.iter().enumerate() {
            let oracle = oracle(&network, tokens);
            let mut probe =
                Probe::new(&network.graph, &alignment.docs(&corpus), doc as u32, Bound::Local, &params);
            let mut before = (probe.elbo(), oracle.elbo(&point_of(&network, &probe)));
            // The last update of each sweep is that of r.
            let n_topics = probe.q().len();
            for update in (0..6).flat_map(|_| 0..=n_topics) {
                if update < n_topics {
                    probe.update_q(update)
                } else {
                    update_r(&mut probe)
                }
                let point = point_of(&network, &probe);
                let now = (probe.elbo(), oracle.elbo(&point));
                let rounding = F32_TERMS * bound_size(&oracle, &point);
                let name = format!("seed {seed} doc {doc} update {update}: {before:?} to {now:?}");
                assert!(now.0 >= before.0 - rounding, "{name}: the f32 bound falls");
                assert!(now.1 >= before.1 - F32_UPDATE, "{name}: the bound at the f32 point falls");
                before = now;
            }
        }
    }
}

/// From any shares, none lowers the bound, and together they get further than as many of Eq. 10.
#[test]
fn accelerated_r_iterations_ascend_further_than_plain_ones() {
    let mut bounds = [0.0; 2];
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let (rng, params) = (&mut rng(seed), derive(&network));
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let point = random_point(&network, &oracle.local_topics(), rng);
            let mut probes = [(); 2].map(|()| probe_at(&network, tokens, &params, &point));
            for _ in 0..20 {
                let before = oracle.elbo(&point_of(&network, &probes[1]));
                probes[0].update_r();
                probes[1].accelerate_r();
                let now = oracle.elbo(&point_of(&network, &probes[1]));
                assert!(now >= before - F32_UPDATE, "seed {seed} {tokens:?}: {before} to {now}");
            }
            for (bound, probe) in bounds.iter_mut().zip(&probes) {
                *bound += oracle.elbo(&point_of(&network, probe));
            }
        }
    }
    assert!(bounds[1] > bounds[0], "sum of bounds {}, plain {}", bounds[1], bounds[0]);
}

#[test]
fn r_iterations_stay_at_the_best_r() {
    for (seed, network, docs) in random_cases(60, 12, 15) {
        let (rng, params) = (&mut rng(seed), derive(&network));
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = oracle.local_topics();
            let mut best = random_point(&network, &inside, rng);
            oracle.positive_nodes(&inside).into_iter().for_each(|node| oracle.optimise_r(&mut best, node));
            for update in [Probe::update_r, Probe::accelerate_r] {
                let mut probe = probe_at(&network, tokens, &params, &best);
                let most = oracle.elbo(&point_of(&network, &probe));
                update(&mut probe);
                let now = oracle.elbo(&point_of(&network, &probe));
                assert!((now - most).abs() <= F32_UPDATE, "seed {seed} {tokens:?}: {now}, best {most}");
            }
        }
    }
}

/// A tiny share that turns out to be wanted: growing by its fourth power it would overshoot by 0.1 nats.
#[test]
fn a_tiny_share_that_is_wanted_does_not_overshoot() {
    let network = network_of(2, 1, &[(0, 2, 0.01), (1, 2, 9.99)], vec![0.1, 0.1, 0.0953]);
    let (params, point) = (derive(&network), Point { q: vec![0.9, 0.15], r: vec![0.001, 0.999] });
    let mut probe = probe_at(&network, &[0], &params, &point);
    let mut before = probe.elbo();
    for iteration in 0..30 {
        probe.accelerate_r();
        let now = probe.elbo();
        assert!(now >= before - F32_BOUND, "iteration {iteration}: {before} to {now}");
        before = now;
    }
}
