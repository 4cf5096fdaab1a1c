//! Unknown tokens, left out of the bound and of the gradients exactly.
//!
//! W0 and S_k count every token as absent until it is seen. An unknown token i adds nothing, so `-w0_i - sum_k q_k w_ki` is to be taken
//! back. That is what a positive node adds whose `beta` is `w0_i` and whose `f'(w0)` is 0: then `m_ki = w_ki` whatever r is. So every token
//! gets a shadow, a node with the same parents and those parameters, which is positive where the token is unknown. Backends then need
//! to know nothing of unknown tokens, and their parents are all in H_d, as those of any positive node.
//!
//! A shadow's sums are what the gradients take back: its `N_ki` is the sum of q_k over the documents where i is unknown, its `L_i` their
//! number. Added to those of the token, `G_ki = N_ki - Q_k` and `G_0i = L_i - D` are exact. In EM they are the counts that are
//! expected of a token that nobody looked at, `w_ki q_k`: it never lowers the bound, but is slow where most is unknown.

use super::{Params, Stats, Work};
use crate::error::Result;
use crate::network::Graph;

/// Runs documents with unknown tokens by a backend that knows none.
pub(super) fn run_with_shadows(
    work: &Work<'_>,
    run: impl FnOnce(&Work<'_>) -> Result<Stats>,
) -> Result<Stats> {
    let graph = work.graph.with_shadows();
    let params = work.params.with_shadows(work.graph);
    let with_shadows = Work { graph: &graph, params: &params, docs: work.docs.with_shadows(), ..*work };
    Ok(run(&with_shadows)?.join_shadows(work.graph))
}

/// The number of edges into topics: those into tokens follow.
fn first_token_edge(graph: &Graph) -> usize {
    graph.edge_offsets()[graph.n_topics()] as usize
}

impl Params {
    /// Those of the shadows behind the others.
    pub(crate) fn with_shadows(&self, graph: &Graph) -> Self {
        let mut params = self.clone();
        params.edge.extend_from_within(first_token_edge(graph)..);
        params.slope.resize(graph.n_nodes() + graph.n_tokens(), 0.0);
        params.bias.extend_from_slice(&self.token_leak);
        params
    }
}

impl Stats {
    /// The sums of every token and its shadow together.
    fn join_shadows(mut self, graph: &Graph) -> Self {
        if !self.leak.is_empty() {
            let shadows = self.edge.split_off(graph.n_edges());
            let edges = &mut self.edge[first_token_edge(graph)..];
            edges.iter_mut().zip(shadows).for_each(|(sum, taken_back)| *sum += taken_back);
            let shadows = self.leak.split_off(graph.n_nodes());
            let leaks = &mut self.leak[graph.n_topics()..];
            leaks.iter_mut().zip(shadows).for_each(|(sum, taken_back)| *sum += taken_back);
        }
        self
    }
}
