//! Topics whose state is given on the command line.

use clap::Args;
use noisyor::network::Network;
use noisyor::report::find_whole_topic;
use noisyor::{Error, Result};
use std::collections::BTreeMap;

#[derive(Args)]
pub(crate) struct GivenArgs {
    /// Topics whose state is known in all documents, by whole names or numbers, as in "smoker=1,flu=0"
    #[arg(long, value_name = "TOPIC=STATE,...")]
    given: Vec<String>,
}

impl GivenArgs {
    pub(crate) fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// The topics by number, each once, with their states.
    pub(crate) fn states(&self, network: &Network) -> Result<Vec<(u32, bool)>> {
        let mut states: BTreeMap<u32, bool> = BTreeMap::new();
        // A name may hold commas.
        let is_one = |entry: &str| {
            entry.rsplit_once('=').is_some_and(|(name, _)| find_whole_topic(network, name.trim()).is_ok())
        };
        let entries = self
            .given
            .iter()
            .flat_map(|list| if is_one(list) { vec![list.as_str()] } else { list.split(',').collect() });
        for entry in entries.map(str::trim).filter(|entry| !entry.is_empty()) {
            let fault =
                |message: &str| Error::Usage(format!("--given {entry}: {message}, as in \"smoker=1\""));
            let (name, state) = entry.rsplit_once('=').ok_or_else(|| fault("give a topic and its state"))?;
            let state = match state.trim().to_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => true,
                "0" | "false" | "no" | "off" => false,
                _ => return Err(fault("a state is 1 or 0")),
            };
            let topic = find_whole_topic(network, name.trim())?;
            if states.insert(topic, state).is_some_and(|other| other != state) {
                return Err(fault("the topic is given as on and as off; give one of them"));
            }
        }
        Ok(states.into_iter().collect())
    }
}
