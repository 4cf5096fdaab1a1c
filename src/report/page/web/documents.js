// How well documents are explained: the spread of their bounds, and the worst of them.

function boundsHistogram(docs) {
  const width = docs.bin_width, shown = value => label(Number(value.toPrecision(6)));
  const bins = docs.bins.map(([bin, ...counts]) => ({from: bin * width, to: (bin + 1) * width, counts, title: `${shown(bin * width)} to ${shown((bin + 1) * width)}`}));
  const xTicks = (low, high, pixels) => ticks(low, high, Math.min(9, pixels / 80));
  return histogram('Bound of a document', bins, ['train', 'valid', 'test'], {xTitle: 'Nats', xTicks});
}

const docTiles = docs => el('div', {class: 'tiles'}, KINDS.map(([, text], part) => docs.counts[part] > 0 &&
  tile(nats(docs.means[part]), `${docs.of_run ? text.toLowerCase() + ': ' : ''}mean bound of ${plural(docs.counts[part], 'document')}`)));

function worstItem(entry, docs, words) {
  const doc = docs.all[entry.doc], shown = entry.costs.length;
  return el('li', {}, el('div', {class: 'head'}, name(doc.id), doc.label && el('span', {class: 'tag', dir: 'auto', title: doc.label}, doc.label),
    summary.docs.of_run && el('span', {class: 'tag'}, ['training', 'held out', 'test'][doc.part]),
    el('span', {class: 'quiet num'}, `${nats(entry.perWord)} nats a word, bound ${nats(entry.bound)}, ${plural(doc.total, 'word')}`)),
    el('p', {class: 'words'}, entry.costs.map(({word, cost}) => el('span', {class: 'w cost', dir: 'auto', title: words.names[word]}, words.names[word], ' ', el('small', {}, cost.toFixed(1)))),
      doc.total > shown && el('span', {class: 'quiet'}, `and ${count(doc.total - shown)} cheaper`)));
}

async function worstDocuments() {
  const [docs, words] = [await loadDocs(), await loadWords()];
  const list = el('ul', {class: 'docs', id: 'worst'});
  const show = by => list.replaceChildren(...docs.worst[by === 'word' ? 0 : 1].map(entry => worstItem(entry, docs, words)));
  show('word');
  return [el('h3', {}, 'The worst explained'),
    el('div', {class: 'tools'}, choice('Worst by', [['word', 'By cost a word'], ['document', 'By bound']], show)),
    el('p', {class: 'lead'}, 'A word costs what the bound of its document is below that of a document without words ',
      `(${nats(summary.docs.empty_bound)} nats), shared among its words. By this, documents of fewer than five words count as if they had five. Below each, its dearest words, with the nats that each costs given the topics that are on.`), list];
}
