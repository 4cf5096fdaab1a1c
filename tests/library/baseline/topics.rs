//! LDA, HDP and NMF, which learn topics of words in the same way: recovery, control variates, completion, damage.

use super::{Data, assert_damage_is_seen, assert_sound, pass, three_topics};
use noisyor::baseline::{
    Hdp, HdpOptions, Lda, LdaOptions, Model, Nmf, NmfOptions, SviOptions, Training, completion,
};
use noisyor::{Monitor, Result};

fn svi(topics: usize, batch: usize, control_variates: bool) -> SviOptions {
    SviOptions { topics, batch, control_variates, ..SviOptions::default() }
}

fn lda(svi: SviOptions) -> impl Fn(&Training<'_>) -> Result<Lda> + Send + Sync {
    move |training| Lda::start(&LdaOptions { svi: svi.clone(), ..LdaOptions::default() }, training)
}

fn nmf(svi: SviOptions) -> impl Fn(&Training<'_>) -> Result<Nmf> + Send + Sync {
    move |training| Nmf::start(&NmfOptions { svi: svi.clone() }, training)
}

fn hdp(svi: SviOptions) -> impl Fn(&Training<'_>) -> Result<Hdp> + Send + Sync {
    move |training| Hdp::start(&HdpOptions { svi: svi.clone(), sticks: 4, ..HdpOptions::default() }, training)
}

#[test]
fn keep_to_what_every_model_does() {
    for control in [false, true] {
        assert_sound(lda(svi(4, 60, control)), Lda::load);
        assert_sound(nmf(svi(4, 60, control)), Nmf::load);
        assert_sound(hdp(svi(6, 60, control)), Hdp::load);
    }
}

#[test]
fn damaged_arrays_are_refused() {
    let data = three_topics(50);
    fn damage<M: Model>(
        data: &Data,
        more: &[(&str, &[f64])],
        model: M,
        load: impl Fn(noisyor::baseline::Tensors) -> Result<M>,
    ) {
        let mut model = model;
        pass(&mut model, &data.training(0), 0..1);
        let state: [(&str, &[f64]); 7] = [
            ("lambda", &[0.0, -1.0, 1e16]),
            ("state_steps", &[-1.0, 1e16]),
            ("state_score", &[]),
            ("state_mean", &[-0.1, 1.1]),
            ("state_weight", &[-1.0]),
            ("state_cov", &[-1.0]),
            ("state_var", &[-1.0]),
        ];
        assert_damage_is_seen(&model, &[&state, more].concat(), load);
    }
    damage(&data, &[], lda(svi(3, 20, true))(&data.training(0)).unwrap(), Lda::load);
    damage(&data, &[], nmf(svi(3, 20, true))(&data.training(0)).unwrap(), Nmf::load);
    let more: [(&str, &[f64]); 2] = [("stick", &[0.0, -1.0]), ("state_stick", &[-1e16])];
    damage(&data, &more, hdp(svi(3, 20, true))(&data.training(0)).unwrap(), Hdp::load);
}

/// Every kind of document has a topic of its own, whatever the model.
#[test]
fn topics_of_synthetic_documents_are_recovered() {
    let data = three_topics(1500);
    fn check<M: Model>(
        name: &str,
        data: &Data,
        mut model: M,
        topic: impl Fn(&M, usize) -> Vec<f64>,
        n_topics: usize,
    ) {
        let before = completion_of(&model, data);
        pass(&mut model, &data.training(3), 0..10);
        // Of each kind, the best topic's share in its words: 4 x 0.7 of 4 x 0.7 + 8 x 0.03 words are of the kind, by chance a third. A topic may
        // keep some words of another kind, above all in HDP, where eight topics compete for three kinds.
        for kind in 0..3 {
            let share = |at| topic(&model, at)[4 * kind..][..4].iter().sum::<f64>();
            let best = (0..n_topics).map(share).fold(0.0, f64::max);
            assert!(best > 0.75, "{name}: kind {kind} has {best} of the words of any topic");
        }
        let after = completion_of(&model, data);
        assert!(after > before + 0.5, "{name}: completion {before}, then {after}");
    }
    for control in [false, true] {
        let training = data.training(3);
        check("lda", &data, lda(svi(3, 50, control))(&training).unwrap(), Lda::topic, 3);
        check("nmf", &data, nmf(svi(3, 50, control))(&training).unwrap(), Nmf::topic, 3);
        check("hdp", &data, hdp(svi(8, 50, control))(&training).unwrap(), Hdp::topic, 8);
    }
}

fn completion_of(model: &dyn Model, data: &Data) -> f64 {
    let docs = data.alignment.docs(&data.corpus);
    completion(model, &docs, &data.train, 0.2, 1, &Monitor::default()).unwrap().mean
}

/// With one topic, every model predicts words by how often they occur.
#[test]
fn completion_by_hand() {
    let data = Data::of([vec![0, 1, 2], vec![0, 1], vec![0, 3], vec![]], 4);
    let one = SviOptions { eta: 1e-4, batch: 4, ..svi(1, 4, false) };
    let mut model = lda(SviOptions { tau: 1.0, ..one })(&data.training(0)).unwrap();
    pass(&mut model, &data.training(0), 0..1);
    let docs = data.alignment.docs(&data.corpus);
    let mean = |doc_ix: u32, seed| completion(&model, &docs, &[doc_ix], 0.5, seed, &Monitor::default());
    // Document 1: either word 1 is predicted from 0, as 2 of 4 others, or 0 from 1, as 3 of 5.
    let mut seen = [false; 2];
    for seed in 0..40 {
        let Ok(found) = mean(1, seed) else { continue };
        let is = [2.0 / 4.0, 3.0 / 5.0].map(|p: f64| (found.mean - p.ln()).abs() < 1e-3);
        assert!(is[0] || is[1], "{found:?}");
        assert_eq!((found.n_words, found.n_docs), (1, 1));
        seen = [seen[0] | is[0], seen[1] | is[1]];
    }
    assert_eq!(seen, [true, true]);
    assert!(mean(3, 0).unwrap_err().to_string().contains("too few active words"));
    let refused = completion(&model, &docs, &data.train, 1.0, 0, &Monitor::default()).unwrap_err();
    assert!(refused.to_string().contains("is 1; give one between 0 and 1"));
}

/// The bound of LDA is below the exact likelihood under the mean topics' expected logarithms: one word of a document of one word.
#[test]
fn bounds_of_one_word_are_below_its_log_probability() {
    let data = three_topics(400);
    let words = Data::of((0..12).map(|word| vec![word]), 12);
    let docs = words.alignment.docs(&words.corpus);
    let check = |model: &dyn Model| {
        let mean: Vec<f64> = model.predictive(&[]).unwrap();
        for (word, score) in model.scores(&docs, &words.train).into_iter().enumerate() {
            // log p(w) = log sum_k E[theta_k] E[beta_kw] under the prior of theta and q(beta).
            assert!(score <= mean[word].ln() + 1e-9, "{word}: {score} above {}", mean[word].ln());
            assert!(score > mean[word].ln() - 3.0, "{word}: {score}, {}", mean[word].ln());
        }
    };
    let mut model = lda(svi(3, 50, false))(&data.training(0)).unwrap();
    pass(&mut model, &data.training(0), 0..5);
    check(&model);
    let mut model = hdp(svi(6, 50, false))(&data.training(0)).unwrap();
    pass(&mut model, &data.training(0), 0..5);
    check(&model);
}

/// A batch of all documents has no variance; of others, what is corrected has less.
#[test]
fn control_variates_lower_the_variance() {
    let data = three_topics(600);
    let training = data.training(4);
    let mut models: Vec<(&str, Vec<noisyor::baseline::Variance>, Vec<noisyor::baseline::Variance>)> =
        Vec::new();
    let mut model = lda(svi(3, 40, true))(&training).unwrap();
    pass(&mut model, &training, 0..4);
    models.push((
        "lda",
        model.variance(&training, 40, 60).unwrap(),
        model.variance(&training, 600, 3).unwrap(),
    ));
    let mut model = nmf(svi(3, 40, true))(&training).unwrap();
    pass(&mut model, &training, 0..4);
    models.push((
        "nmf",
        model.variance(&training, 40, 60).unwrap(),
        model.variance(&training, 600, 3).unwrap(),
    ));
    let mut model = hdp(svi(5, 40, true))(&training).unwrap();
    pass(&mut model, &training, 0..4);
    models.push((
        "hdp",
        model.variance(&training, 40, 60).unwrap(),
        model.variance(&training, 600, 3).unwrap(),
    ));
    for (name, some, all) in &models {
        assert_eq!(some.len(), if *name == "hdp" { 2 } else { 1 });
        for row in some {
            println!("{name} {}: {} to {}", row.of, row.plain, row.controlled);
            assert!(row.plain > 0.0 && row.controlled < 0.9 * row.plain, "{name}: {row:?}");
        }
        for (row, some) in all.iter().zip(some) {
            assert!(row.plain < 1e-9 * some.plain && row.controlled < 1e-9 * some.plain, "{name}: {row:?}");
        }
    }
    let plain = lda(svi(3, 40, false))(&training).unwrap();
    assert!(plain.variance(&training, 40, 9).unwrap_err().to_string().contains("`control_variates`"));
}
