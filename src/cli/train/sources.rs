//! Where the network of a run comes from, by the arguments that say so.

use super::Args;
use noisyor::run::NetworkSource;
use noisyor::{Error, Result};

impl Args {
    /// The network that is asked for; options that make no sense together are refused by their names.
    pub(super) fn network(&self) -> Result<NetworkSource> {
        let refines = self.training.refine;
        if let Some(option) = self.graph.as_ref().and_then(|_| self.learning.first_given(refines, false)) {
            return Err(Error::Usage(format!(
                "{option} is about learning a graph, and one is given with --graph; leave out one of the two"
            )));
        }
        if let Some(path) = &self.update.from {
            if let Some(option) = self.learning.first_given(false, true) {
                return Err(Error::Usage(format!(
                    "{option} is about learning a graph, and --from starts from the model's; leave out one of the two"
                )));
            }
            if self.training.has_init() {
                return Err(Error::Usage("--from starts from the model's weights; leave out --init".into()));
            }
            let (parents, min_support) = (self.learning.most_parents(), self.learning.least_support());
            let (path, docs) = (path.clone(), self.update.from_docs);
            return Ok(NetworkSource::Model { path, docs, parents, min_support });
        }
        if let Some(path) = &self.graph {
            return Ok(NetworkSource::File(path.clone()));
        }
        if let Some(topics) = self.learning.complete_layers(refines)? {
            return Ok(NetworkSource::Complete { topics: topics.to_vec() });
        }
        let request = self.learning.request()?;
        Ok(match self.learning.effort().filter(|_| !refines) {
            Some(effort) => NetworkSource::Chosen { effort, epochs: self.training.epochs, known: request },
            None => NetworkSource::Learned(request),
        })
    }
}
