// One topic: what stands above and below it, its words, and the documents it is most active in.

const bars = (items, cell) => el('ul', {class: 'bars'}, items.map(({id, p}) =>
  el('li', {}, cell(id), meter(p), el('span', {class: 'num'}, chance(p)))));
const group = (title, content, note) => el('div', {}, el('h3', {}, title), content, note && el('p', {class: 'quiet'}, note));
const LISTED = 100;

// A list that may be long: the rest on demand.
function listed(items, cell) {
  const list = bars(items.slice(0, LISTED), cell);
  if (items.length <= LISTED) return list;
  const more = el('button', {type: 'button', onclick: () => more.replaceWith(bars(items.slice(LISTED), cell))}, `Show ${count(items.length - LISTED)} more`);
  return el('div', {}, list, more);
}

function docItem(doc, words, figure, isOwn) {
  return el('li', {}, el('div', {class: 'head'}, name(doc.id), doc.label && el('span', {class: 'tag', dir: 'auto', title: doc.label}, doc.label),
    summary.docs.of_run && el('span', {class: 'tag'}, ['training', 'held out', 'test'][doc.part]), el('span', {class: 'quiet num'}, figure)),
    el('p', {class: 'words'}, doc.words.map(word => el('span', {class: `w${isOwn(word) ? ' own' : ''}`, dir: 'auto'}, words.names[word])),
      doc.total > doc.words.length && el('span', {class: 'quiet'}, `and ${count(doc.total - doc.words.length)} more`), doc.total === 0 && el('span', {class: 'quiet'}, 'no words')));
}

async function topicView(id, goTo) {
  const [topics, words] = [await loadTopics(), await loadWords()];
  if (!(id < topics.n)) return [el('h1', {tabindex: -1}, `There is no topic ${id}`), el('p', {}, el('a', {href: '#topics'}, 'To the topics'))];
  const docs = summary.docs ? await loadDocs() : null;
  const parents = topics.parents.of(id), below = topics.below(id), own = words.lists.of(id), through = wordsThrough(topics, words, id);
  const isOwn = new Set([...own, ...through].map(word => word.id));
  const path = topics.path(id).slice(0, -1).slice(-6);
  const missing = words.total[id] - own.length;
  const active = docs ? docs.lists.of(id) : [];
  const documents = docs && el('section', {class: 'card'}, el('h2', {}, 'Documents in which it is most active'),
    active.length ? el('ul', {class: 'docs'}, active.map(({id: doc, p}) => docItem(docs.all[doc], words, `q ${chance(p)}`, word => isOwn.has(word))))
      : el('p', {class: 'lead'}, 'None with a probability of at least 0.01, or this page leaves them out.'));
  return [
    el('nav', {class: 'crumbs', 'aria-label': 'From the top'}, el('a', {href: '#topics'}, 'All topics'), path.map(up => ['›', topicLink(topics, up)])),
    el('h1', {tabindex: -1}, name(topics.names[id], '')),
    el('p', {class: 'lead'}, `Topic ${id}, layer ${topics.level[id]}. Probabilities are those with which one edge alone switches its child on, 1\u00a0−\u00a0exp(−w). `,
      el('button', {type: 'button', class: 'plain', onclick: () => goTo(id)}, 'Show its branch in the tree')),
    el('div', {class: 'tiles'},
      docs && tile(percent(topics.mean[id]), 'prevalence: mean q over the documents'),
      docs && tile(count(topics.on[id]), `documents with q ≥ 0.5, of ${count(summary.docs.looked_at)}`),
      tile(percent(topics.leak[id]), 'leak: on without any parent'),
      tile(count(words.total[id]), words.total[id] === 1 ? 'word' : 'words'), tile(count(below.length), below.length === 1 ? 'topic below' : 'topics below')),
    el('section', {class: 'card'}, el('div', {class: 'columns'},
      (own.length > 0 || below.length === 0) && group('Words', own.length ? listed(own, word => name(words.names[word])) : el('p', {class: 'quiet'}, 'None of its own.'),
        missing > 0 && `${plural(missing, 'weaker word')} left out of this page.`),
      below.length > 0 && group('Words through topics below', listed(through.slice(0, 20), word => name(words.names[word]))),
      group('Topics below', below.length ? listed(below, child => topicLink(topics, child)) : el('p', {class: 'quiet'}, 'None.')),
      group('Topics above', parents.length ? listed(parents, parent => topicLink(topics, parent)) : el('p', {class: 'quiet'}, 'None: it is at the top.')))),
    documents || el('p', {class: 'notice'}, summary.no_docs),
  ];
}
