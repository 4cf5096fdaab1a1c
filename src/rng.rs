//! Random numbers: one seed, one independent stream per purpose, the same on every machine.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What randomness is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Initial weights.
    Init,
    /// Train/validation split.
    Split,
    /// The order of documents in an epoch.
    Shuffle(u64),
    /// A random network.
    SynthNetwork,
    /// One sampled document.
    SynthDocument(u64),
    /// The candidates of a round of renewal.
    Renew(u64),
    /// New edges of refinement.
    Refine,
    /// Documents that a graph is learned from, where there are too many.
    GraphDocs,
    /// Which documents a run is planned by.
    Plan,
    /// Documents that a report looks at, where there are too many.
    Report,
    /// Samples of the topics of one document, for its likelihood.
    Likelihood(u64),
    /// Where a mixture's components begin.
    Mixture,
    /// Samples of the topics of one case, for its posterior.
    Posterior(u64),
    /// Groups of documents whose moments are counted, and parameters at which a rank is computed.
    Moments,
    /// Which tokens of one sampled document are unknown.
    SynthUnknown(u64),
    /// Where components of a mixture begin anew after a pass.
    MixtureRenewal(u64),
    /// One document that a mixture samples.
    MixtureSample(u64),
    /// Where the topics of a baseline begin.
    Topics,
    /// Shares of topics of one document, for its likelihood.
    Theta(u64),
    /// Which tokens of one document are held out, to be predicted from the others.
    HeldOut(u64),
    /// One batch of documents among many whose gradients are compared.
    Gradient(u64),
    /// Clusters of rows while the structure of a sum-product network is learned.
    SpnStructure,
    /// Weights that a sum-product network begins with.
    SpnStart,
    /// The order of documents in a pass of a sum-product network.
    SpnShuffle(u64),
    /// One document that a sum-product network samples.
    SpnSample(u64),
    /// The chain of one document in one weight step. Steps are told apart up to 2^24 of them.
    Gibbs {
        /// The weight step.
        step: u64,
        /// The document.
        doc: u32,
    },
    /// The chain of one document, for a lower bound of its likelihood.
    McmcBound(u64),
}

/// The generator of one stream.
pub fn rng(seed: u64, stream: Stream) -> ChaCha8Rng {
    let (purpose, index) = match stream {
        Stream::Init => (0, 0),
        Stream::Split => (1, 0),
        Stream::Shuffle(epoch) => (2, epoch),
        Stream::SynthNetwork => (3, 0),
        Stream::SynthDocument(doc) => (4, doc),
        Stream::Refine => (5, 0),
        Stream::GraphDocs => (7, 0),
        Stream::Plan => (6, 0),
        Stream::Report => (8, 0),
        Stream::Renew(round) => (9, round),
        Stream::Likelihood(doc) => (10, doc),
        Stream::Mixture => (11, 0),
        Stream::Posterior(case) => (12, case),
        Stream::Moments => (13, 0),
        Stream::SynthUnknown(doc) => (14, doc),
        Stream::MixtureRenewal(pass) => (15, pass),
        Stream::MixtureSample(doc) => (16, doc),
        Stream::Topics => (44, 0),
        Stream::Theta(doc) => (45, doc),
        Stream::HeldOut(doc) => (46, doc),
        Stream::Gradient(batch) => (47, batch),
        Stream::SpnStructure => (40, 0),
        Stream::SpnStart => (41, 0),
        Stream::SpnShuffle(pass) => (42, pass),
        Stream::SpnSample(doc) => (43, doc),
        Stream::Gibbs { step, doc } => (20, (step & 0xff_ffff) << 32 | u64::from(doc)),
        Stream::McmcBound(doc) => (21, doc),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose << 56 | index);
    rng
}
