//! The model to compare with: words that occur independently of each other.

/// A token that no document of the training part holds is taken to be in this many of them.
const UNSEEN_DOCS: f64 = 0.1;

/// How likely documents are if words are independent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baseline {
    /// Mean log-likelihood of a document, in nats.
    pub mean: f64,
    /// Words of a document, in the mean.
    pub words: f64,
}

impl Baseline {
    /// Of documents that hold each token with the frequency `held`, where it has the frequency `known` in `n_docs` documents that
    /// the probabilities come from: `sum_t f_t log p_t + (1 - f_t) log(1 - p_t)`.
    pub fn new(held: &[f64], known: &[f64], n_docs: usize) -> Self {
        Self::among_told(held, &vec![1.0; held.len()], known, n_docs)
    }

    /// The same where each token is told of a share of the documents, `told`, and unknown in the others: those count for nothing.
    /// `held` is then the frequency among documents that tell it.
    pub fn among_told(held: &[f64], told: &[f64], known: &[f64], n_docs: usize) -> Self {
        let least = UNSEEN_DOCS / n_docs.max(1) as f64;
        let token = |((&f, &told), &p): ((&f64, &f64), &f64)| {
            let p = p.clamp(least, 1.0 - least);
            told * (f * p.ln() + (1.0 - f) * (-p).ln_1p())
        };
        let words = held.iter().zip(told).map(|(f, told)| f * told).sum();
        Self { mean: held.iter().zip(told).zip(known).map(token).sum(), words }
    }

    /// What a bound gains over it: nats a document, and bits a word (none where documents are empty).
    pub fn gain(&self, bound: f64) -> (f64, Option<f64>) {
        let gain = bound - self.mean;
        (gain, (self.words > 0.0).then(|| gain / self.words / std::f64::consts::LN_2))
    }

    /// The gain, in words.
    pub fn describe(&self, bound: f64) -> String {
        let (gain, bits) = self.gain(bound);
        let bits = bits.map_or(String::new(), |bits| format!(", {bits:.4} bits a word"));
        format!("independent words {:.4}; the gain over them {gain:.4} nats a document{bits}", self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sum_over_documents() {
        // Two tokens; documents {0}, {0, 1}, {}; probabilities from 10 others.
        let (held, known) = ([2.0 / 3.0, 1.0 / 3.0], [0.5, 0.0]);
        let baseline = Baseline::new(&held, &known, 10);
        let (half, rare) = (0.5f64.ln(), 0.01f64.ln());
        let each = [half + 0.99f64.ln(), half + rare, half + 0.99f64.ln()];
        assert!((baseline.mean - each.iter().sum::<f64>() / 3.0).abs() < 1e-12);
        assert!((baseline.words - 1.0).abs() < 1e-12);
        let (gain, bits) = baseline.gain(baseline.mean + 2.0);
        assert!((gain - 2.0).abs() < 1e-12 && (bits.unwrap() - 2.0 / 2f64.ln()).abs() < 1e-12);
        // The second document does not tell token 1, the third none.
        let among = Baseline::among_told(&[1.0, 0.0], &[2.0 / 3.0, 1.0 / 3.0], &known, 10);
        assert!((among.mean - (half + 0.99f64.ln() + half) / 3.0).abs() < 1e-12);
        assert!((among.words - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(Baseline::new(&[0.0], &[0.5], 4).gain(0.0).1, None);
    }
}
