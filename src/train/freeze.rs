//! Weights that training keeps as it found them.

use crate::error::{Error, Result};
use crate::faults::shown;
use crate::files;
use crate::network::{Graph, Names, Weights};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Bytes of a list of weights at most.
const MAX_LIST: u64 = 1 << 30;

/// Which weights stay as they start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Freeze {
    /// The weights of all edges.
    pub edges: bool,
    /// The leaks of all nodes.
    pub leaks: bool,
    /// The weights of these edges, by the graph's edge numbers.
    pub of_edges: Vec<u32>,
    /// The leaks of these nodes, topics first.
    pub of_nodes: Vec<u32>,
}

impl Freeze {
    /// Whether training may change every weight.
    pub fn is_none(&self) -> bool {
        !self.edges && !self.leaks && self.of_edges.is_empty() && self.of_nodes.is_empty()
    }

    /// Adds the weights that a file lists, one a line: `parent<TAB>child`, or the name of a node for its leak. Lines that begin with
    /// `#` are comments.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be read, [`Error::Input`] for a line that names no weight of the graph.
    pub fn add_list(&mut self, path: &Path, graph: &Graph, names: &Names) -> Result<()> {
        let bytes = files::read(path, MAX_LIST)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let all = names.topics.iter().chain(&names.tokens).map(String::as_str);
        let number_of: FxHashMap<&str, u32> = all.zip(0..).collect();
        for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
            let fault = |message: String| Error::input(path, Some(number), message);
            let line = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line))
                .map_err(|_| fault("not UTF-8 text; save the file as UTF-8".into()))?;
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let node = |name: &str| {
                let known = number_of.get(name).copied();
                known.ok_or_else(|| {
                    fault(format!("'{}' is no topic or token of the graph; mind the spelling", shown(name)))
                })
            };
            let Some((parent, child)) = line.split_once('\t') else {
                self.of_nodes.push(node(line)?);
                continue;
            };
            if child.contains('\t') {
                return Err(fault(format!(
                    "'{}' is not parent<TAB>child, nor a name alone for its leak",
                    shown(line)
                )));
            }
            let (from, to) = (node(parent)?, node(child)? as usize);
            let at = graph.parents(to).binary_search(&from).map_err(|_| {
                fault(format!("the graph has no edge from '{}' to '{}'", shown(parent), shown(child)))
            })?;
            self.of_edges.push((graph.edges_into(to).start + at) as u32);
        }
        for list in [&mut self.of_edges, &mut self.of_nodes] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(())
    }

    /// Refuses numbers that are not of a graph.
    pub(super) fn check(&self, graph: &Graph) -> Result<()> {
        let below = |list: &[u32], n: usize| list.iter().all(|&number| (number as usize) < n);
        if below(&self.of_edges, graph.n_edges()) && below(&self.of_nodes, graph.n_nodes()) {
            return Ok(());
        }
        Err(Error::Usage("`freeze` names edges or nodes that the graph does not have".into()))
    }

    /// Puts frozen weights back to what they were.
    pub(super) fn restore(&self, weights: &mut Weights, before: &Weights) {
        let put_back = |now: &mut [f64], before: &[f64], all: bool, some: &[u32]| match all {
            true => now.copy_from_slice(before),
            false => some.iter().for_each(|&at| now[at as usize] = before[at as usize]),
        };
        put_back(&mut weights.edge, &before.edge, self.edges, &self.of_edges);
        put_back(&mut weights.leak, &before.leak, self.leaks, &self.of_nodes);
    }
}
