//! Files of baselines with flipped bits: refused, or sound enough to score documents with. Nothing panics.

use noisyor::baseline::spn::SpnOptions;
use noisyor::baseline::{
    BaselineConfig, BaselineRun, BernoulliLdaOptions, HdpOptions, LdaOptions, MixtureOptions, ModelOptions,
    NmfOptions, SviOptions, load_baseline, scores,
};
use noisyor::corpus::{CorpusSource, Place, align};
use noisyor::{Corpus, Monitor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Flipped bits of each file, and places that it is cut at.
const FLIPS: usize = 400;
const CUTS: usize = 40;

fn corpus() -> Corpus {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let doc = |_| (0..8u32).filter(|token| random.random::<f64>() < 0.1 + 0.1 * f64::from(*token)).collect();
    Corpus::from_tokens((0..60).map(doc).collect::<Vec<Vec<u32>>>())
}

#[test]
fn flipped_bits_and_files_cut_short_do_not_panic() {
    let svi = || SviOptions { topics: 3, ..SviOptions::default() };
    let models = [
        ModelOptions::Mixture(MixtureOptions { components: 3, smoothing: None }),
        ModelOptions::BernoulliLda(BernoulliLdaOptions { topics: 3, ..BernoulliLdaOptions::default() }),
        ModelOptions::Lda(LdaOptions { svi: svi(), ..LdaOptions::default() }),
        ModelOptions::Hdp(HdpOptions { svi: svi(), ..HdpOptions::default() }),
        ModelOptions::Nmf(NmfOptions { svi: svi() }),
        ModelOptions::Spn(Box::new(SpnOptions { min_rows: 10, ..SpnOptions::default() })),
    ];
    let folder = tempfile::tempdir().unwrap();
    for options in models {
        let name = options.name();
        let mut config = BaselineConfig::new(CorpusSource::new(Place::Memory), options);
        config.epochs = 2;
        let path = folder.path().join(name);
        let mut run =
            BaselineRun::prepare(config, Some(&path), Some(corpus()), Arc::default(), &mut ()).unwrap();
        run.train(&mut ()).unwrap();
        let whole = std::fs::read(path.join("model.safetensors")).unwrap();
        let file = folder.path().join("damaged.safetensors");
        let (corpus, monitor, mut n_refused) = (corpus(), Monitor::default(), 0);
        let mut look = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            match load_baseline(&file) {
                Ok(trained) => {
                    let alignment = align(&corpus, &trained.names.tokens);
                    let _ = scores(trained.model.as_ref(), &alignment.docs(&corpus), &[0, 1, 2], &monitor);
                    let _ = trained.model.features(&alignment.docs(&corpus), &[0]);
                }
                Err(error) => {
                    assert!(error.to_string().contains("damaged.safetensors"), "{name}: {error}");
                    n_refused += 1;
                }
            }
        };
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..FLIPS {
            let mut bytes = whole.clone();
            bytes[random.random_range(0..whole.len())] ^= 1 << random.random_range(0..8u32);
            look(&bytes);
        }
        (0..CUTS).for_each(|cut| look(&whole[..whole.len() * cut / CUTS]));
        assert!(n_refused >= CUTS, "{name}: {n_refused}");
    }
}
