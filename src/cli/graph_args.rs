//! Options of learning a graph, and the files of words that some of them name.

use clap::Args;
use noisyor::capacity::Effort;
use noisyor::estep::EStepOptions;
use noisyor::files;
use noisyor::structure::{Anchor, GraphOptions};
use noisyor::update::UpdateOptions;
use noisyor::{Error, Result};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// A larger file is no list of words that someone wrote down.
const MAX_BYTES: u64 = 1 << 24;

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
    /// The same where paths that are not whole are in a folder.
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.anchors = self.anchors.map(|path| folder.join(path));
        for given in self.exclude.iter_mut().filter(|given| !given.contains(',')) {
            *given = folder.join(&*given).to_string_lossy().into_owned();
        }
        self
    }

    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let groups = self.exclude.iter().filter(|given| !given.contains(',')).map(PathBuf::from);
        self.anchors.iter().cloned().chain(groups).collect()
    }

    /// Edges at most.
    pub(crate) fn max_edges(&self) -> Option<usize> {
        self.max_edges
    }

    /// The option that refinement, which chooses edges freely, would not keep to.
    pub(crate) fn first_constraint(&self) -> Option<&'static str> {
        let given = [(self.anchors.is_some(), "--anchors"), (!self.exclude.is_empty(), "--exclude")];
        given.iter().find(|(given, _)| *given).map(|&(_, option)| option)
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

    /// How tokens that are new to a model are attached.
    pub(crate) fn attaching(&self, estep: EStepOptions) -> UpdateOptions {
        UpdateOptions { parents: self.most_parents(), min_support: self.least_support(), estep }
    }

    /// Whether every topic is linked to everything in the layer below.
    pub(crate) fn is_complete(&self) -> bool {
        self.parents == Some(Parents::All)
    }

    fn most_parents(&self) -> usize {
        match self.parents {
            Some(Parents::Most(most)) => most,
            None | Some(Parents::All) => GraphOptions::default().parents,
        }
    }

    fn least_support(&self) -> u32 {
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

    /// The options for these tokens, checked; the files are read.
    pub(crate) fn options(&self, tokens: &[String], seed: u64) -> Result<GraphOptions> {
        let number_of: FxHashMap<&str, u32> =
            tokens.iter().enumerate().map(|(at, name)| (name.as_str(), at as u32)).collect();
        let anchors = self.anchors.as_deref().map(|path| read_anchors(path, &number_of)).transpose()?;
        let mut exclude = Vec::new();
        for given in &self.exclude {
            match given.split_once(',') {
                Some(_) => {
                    let place = |message| Error::Usage(format!("--exclude {given}: {message}"));
                    exclude.push(numbers(given.split(',').map(str::trim), &number_of).map_err(place)?);
                }
                None => {
                    if !Path::new(given).exists() {
                        return Err(Error::Usage(format!(
                            "--exclude {given}: there is no such file; words that must not share a topic are given as 'word,word'"
                        )));
                    }
                    exclude.extend(read_groups(given.as_ref(), &number_of)?);
                }
            }
        }
        if let Some(group) = exclude.iter().find(|group| group.iter().all(|token| *token == group[0])) {
            let word = group.first().map_or("", |&token| tokens[token as usize].as_str());
            return Err(Error::Usage(format!(
                "--exclude: '{word}' stands alone; a group needs two words or more"
            )));
        }
        let options = GraphOptions {
            topics: self.topics.clone(),
            layers: self.layers,
            parents: self.most_parents(),
            min_gain: self.min_gain,
            doc_edges: self.doc_edges,
            max_edges: self.max_edges,
            min_support: self.least_support(),
            anchors: anchors.unwrap_or_default(),
            exclude,
            seed,
        };
        options.check(tokens)?;
        Ok(options)
    }
}

/// The lines of a small text file that hold anything, with their numbers.
fn read_lines(path: &Path) -> Result<Vec<(u64, String)>> {
    let bytes = files::read(path, MAX_BYTES)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = std::str::from_utf8(line)
            .map_err(|_| Error::input(path, Some(number), "not UTF-8 text; save the file as UTF-8"))?
            .trim();
        if !line.is_empty() && !line.starts_with('#') {
            lines.push((number, line.to_owned()));
        }
    }
    Ok(lines)
}

/// The numbers of words; the first unknown one is an error in words.
fn numbers<'a>(
    words: impl Iterator<Item = &'a str>,
    number_of: &FxHashMap<&str, u32>,
) -> Result<Vec<u32>, String> {
    words
        .filter(|word| !word.is_empty())
        .map(|word| {
            number_of.get(word).copied().ok_or_else(|| {
                format!("'{word}' is no token of the corpus; remove it, or mind the spelling and lower case")
            })
        })
        .collect()
}

/// Given topics: `name: word word` or `name<TAB>word word`, or words alone.
fn read_anchors(path: &Path, number_of: &FxHashMap<&str, u32>) -> Result<Vec<Anchor>> {
    let mut anchors = Vec::new();
    for (line, text) in read_lines(path)? {
        let fault = |message: String| Error::input(path, Some(line), message);
        // A colon inside a word is no end of a name.
        let named = text.split_once('\t').or_else(|| text.split_once(": "));
        let (name, words) =
            named.or(text.strip_suffix(':').map(|name| (name, ""))).unwrap_or(("", text.as_str()));
        let name = name.trim().trim_end_matches(':');
        let tokens = numbers(words.split_whitespace(), number_of).map_err(fault)?;
        if tokens.is_empty() {
            return Err(fault(format!("topic '{name}' has no words; give at least one")));
        }
        if number_of.contains_key(name) {
            return Err(fault(format!(
                "'{name}' is a token of the corpus, and a topic must have another name"
            )));
        }
        if !name.is_empty() && anchors.iter().any(|anchor: &Anchor| anchor.name == name) {
            return Err(fault(format!("topic '{name}' is on an earlier line already; names must differ")));
        }
        anchors.push(Anchor { name: name.to_owned(), tokens });
    }
    Ok(anchors)
}

/// Groups of words, one a line.
fn read_groups(path: &Path, number_of: &FxHashMap<&str, u32>) -> Result<Vec<Vec<u32>>> {
    let group = |(line, text): (u64, String)| {
        numbers(text.split_whitespace(), number_of).map_err(|message| Error::input(path, Some(line), message))
    };
    read_lines(path)?.into_iter().map(group).collect()
}
