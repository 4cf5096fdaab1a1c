//! Options of learning a graph, and the files of words that some of them name.

use clap::Args;
use noisyor::capacity::Effort;
use noisyor::structure::{GraphOptions, GraphRequest, WordGroup};
use noisyor::{Error, Result};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(next_help_heading = "Graph learning")]
pub(crate) struct GraphArgs {
    /// Work to spend: quick, normal, thorough, or minutes (on two cores, about). Topics and edges are then chosen: as many as the
    /// validation part says are of use, and as there is time for. Without --topics, --layers, --parents, --max-edges,
    /// --min-support and --min-gain the default is normal
    #[arg(long, value_name = "EFFORT", value_parser = parse_effort,
          conflicts_with_all = ["topics", "layers", "parents", "max_edges", "min_support", "min_gain"])]
    effort: Option<Effort>,
    /// Topics of each layer, the one above the tokens first, such as 33,11 [default: as --layers says]
    #[arg(long, value_name = "N,N...", value_delimiter = ',', conflicts_with = "layers")]
    topics: Vec<usize>,
    /// Layers of topics: the lowest has 10/3 times the root of the number of tokens, each other a third of the one below [default: as
    /// many as have ten topics, two at most]
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Parents of a token at most, before refinement; topics may have a third of that. Or 'all': every topic of --topics is linked to
    /// everything in the layer below, and nothing is learned [default: 8]
    #[arg(long, value_name = "N|all", value_parser = parse_parents)]
    parents: Option<Parents>,
    /// Choose edges by what they gain instead of --parents: every topic, of whatever layer, is linked to the tokens that gain at least so
    /// many nats over all training documents
    #[arg(long, value_name = "NATS", conflicts_with_all = ["parents", "min_support"])]
    min_gain: Option<f64>,
    /// With --min-gain: edges of a document at most, in the mean; what gains least for its cost goes first
    #[arg(long, value_name = "N", requires = "min_gain")]
    doc_edges: Option<usize>,
    /// Edges at most; the weakest go first [default: as --parents allows]
    #[arg(long, value_name = "N")]
    max_edges: Option<usize>,
    /// Pairs of tokens seen together in fewer documents do not count [default: 3]
    #[arg(long, value_name = "DOCS")]
    min_support: Option<u32>,
    /// File of topics that there must be, one a line: `name: word word...`, or words alone; '#' starts a comment
    #[arg(long, value_name = "FILE")]
    anchors: Option<PathBuf>,
    /// File of words that must not share a topic, a group a line, separated by spaces; or one group as `word,word`; may be repeated
    #[arg(long, value_name = "FILE|WORD,WORD")]
    exclude: Vec<String>,
}

/// Parents that a token may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parents {
    /// So many.
    Most(usize),
    /// Every topic of the layer above.
    All,
}

fn parse_effort(text: &str) -> Result<Effort, String> {
    match text {
        "quick" => Ok(Effort::Quick),
        "normal" => Ok(Effort::Normal),
        "thorough" => Ok(Effort::Thorough),
        _ => {
            let minutes = text.parse().ok().filter(|&minutes: &f64| minutes > 0.0 && minutes.is_finite());
            minutes
                .map(Effort::Minutes)
                .ok_or_else(|| "quick, normal, thorough, or minutes above 0".to_owned())
        }
    }
}

fn parse_parents(text: &str) -> Result<Parents, String> {
    match text {
        "all" => Ok(Parents::All),
        _ => text.parse().map(Parents::Most).map_err(|_| "a number of topics, or 'all'".to_owned()),
    }
}

impl GraphArgs {
    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let groups = self.exclude.iter().filter(|given| !given.contains(',')).map(PathBuf::from);
        self.anchors.iter().cloned().chain(groups).collect()
    }

    /// Edges at most.
    pub(crate) fn max_edges(&self) -> Option<usize> {
        self.max_edges
    }

    /// The first option that is given, which makes no sense where there is no graph to learn; --max-edges is also the budget of
    /// refinement, and tokens that are new to a model are attached by --parents and --min-support.
    pub(crate) fn first_given(&self, refines: bool, attaches: bool) -> Option<&'static str> {
        let given = [
            (self.effort.is_some(), "--effort"),
            (!self.topics.is_empty(), "--topics"),
            (self.layers.is_some(), "--layers"),
            (self.is_complete(), "--parents all"),
            (self.parents.is_some() && !attaches, "--parents"),
            (self.min_gain.is_some(), "--min-gain"),
            (self.max_edges.is_some() && !refines, "--max-edges"),
            (self.min_support.is_some() && !attaches, "--min-support"),
            (self.anchors.is_some(), "--anchors"),
            (!self.exclude.is_empty(), "--exclude"),
        ];
        given.iter().find(|(given, _)| *given).map(|&(_, option)| option)
    }

    /// Whether every topic is linked to everything in the layer below.
    pub(crate) fn is_complete(&self) -> bool {
        self.parents == Some(Parents::All)
    }

    /// Parents of a token at most.
    pub(crate) fn most_parents(&self) -> usize {
        match self.parents {
            Some(Parents::Most(most)) => most,
            None | Some(Parents::All) => GraphOptions::default().parents,
        }
    }

    /// Documents that a pair must be seen together in.
    pub(crate) fn least_support(&self) -> u32 {
        self.min_support.unwrap_or(GraphOptions::default().min_support)
    }

    /// The work to spend, where topics and edges are to be chosen.
    pub(crate) fn effort(&self) -> Option<Effort> {
        let is_given = !self.topics.is_empty()
            || self.layers.is_some()
            || self.parents.is_some()
            || self.max_edges.is_some()
            || self.min_support.is_some()
            || self.min_gain.is_some();
        (!is_given).then(|| self.effort.unwrap_or(Effort::Normal))
    }

    /// The layers of a complete graph, where that is wanted. Options that say how to learn a graph make no sense with it; --max-edges
    /// is also the budget of refinement.
    pub(crate) fn complete_layers(&self, refines: bool) -> Result<Option<&[usize]>> {
        if !self.is_complete() {
            return Ok(None);
        }
        let given = [
            (self.max_edges.is_some() && !refines, "--max-edges"),
            (self.min_support.is_some(), "--min-support"),
            (self.anchors.is_some(), "--anchors"),
            (!self.exclude.is_empty(), "--exclude"),
        ];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            return Err(Error::Usage(format!(
                "{option} is about learning a graph, and --parents all has every edge; leave out one of the two"
            )));
        }
        if self.topics.is_empty() {
            return Err(Error::Usage(
                "--parents all needs to know how many topics there are; add --topics, such as --topics 60"
                    .into(),
            ));
        }
        Ok(Some(&self.topics))
    }

    /// The graph that is asked for; the files are read.
    pub(crate) fn request(&self) -> Result<GraphRequest> {
        let anchors = self.anchors.as_deref().map(WordGroup::read_anchors).transpose()?;
        let mut exclude = Vec::new();
        for given in &self.exclude {
            match given.split_once(',') {
                Some(_) => {
                    let words = given.split(',').map(str::trim).filter(|word| !word.is_empty());
                    let (words, place) = (words.map(str::to_owned).collect(), format!("--exclude {given}"));
                    exclude.push(WordGroup { name: String::new(), words, place });
                }
                None => {
                    if !Path::new(given).exists() {
                        return Err(Error::Usage(format!(
                            "--exclude {given}: there is no such file; words that must not share a topic are given as 'word,word'"
                        )));
                    }
                    exclude.extend(WordGroup::read_groups(given.as_ref())?);
                }
            }
        }
        Ok(GraphRequest {
            topics: self.topics.clone(),
            layers: self.layers,
            parents: self.most_parents(),
            min_gain: self.min_gain,
            doc_edges: self.doc_edges,
            max_edges: self.max_edges,
            min_support: self.least_support(),
            anchors: anchors.unwrap_or_default(),
            exclude,
        })
    }
}
