// The hierarchy: only the rows in sight are elements. A topic stands below each of its parents, so a branch is whole wherever it is opened.

const ROW = 46, SPARE = 6, SHOWN_WORDS = 10;

class Tree {
  constructor(topics, open) {
    Object.assign(this, {topics, open, words: null, rows: [], active: 0, terms: [], holder: byId('tree')});
    this.space = el('div', {class: 'space', role: 'presentation'});
    this.holder.replaceChildren(this.space);
    this.holder.addEventListener('scroll', () => requestAnimationFrame(() => this.render()));
    this.holder.addEventListener('keydown', event => this.key(event));
    new ResizeObserver(() => this.render()).observe(this.holder);
  }

  // Shows these topics as the top level.
  setRoots(ids, terms = []) {
    this.terms = terms;
    this.rows = ids.map((id, at) => ({id, level: 1, pos: at + 1, size: ids.length, p: null}));
    this.active = 0;
    this.holder.scrollTop = 0;
    this.resize();
  }

  resize() {
    this.space.style.height = `${this.rows.length * ROW}px`;
    this.holder.classList.toggle('short', this.rows.length < 8);
    this.render();
  }

  canOpen(row) {
    return row.id !== undefined && (this.topics.children.length(row.id) > 0 || !this.words || this.words.total[row.id] > 0);
  }

  toggle(at) {
    const row = this.rows[at];
    if (!row || !this.canOpen(row)) return;
    if (!this.words) {
      loadWords().then(words => { this.words = words; this.toggle(at); });
      return;
    }
    row.isOpen = !row.isOpen;
    if (row.isOpen) this.rows = [...this.rows.slice(0, at + 1), ...this.below(row), ...this.rows.slice(at + 1)];
    else {
      let end = at + 1;
      while (end < this.rows.length && this.rows[end].level > row.level) end++;
      this.rows.splice(at + 1, end - at - 1);
      if (this.active > at) this.active = Math.max(at, this.active - (end - at - 1));
    }
    this.resize();
  }

  below({id, level}) {
    const rows = this.topics.below(id);
    for (const {id: word, p} of this.words?.lists.of(id) ?? []) rows.push({word, p});
    const more = this.words ? this.words.total[id] - this.words.lists.length(id) : 0;
    if (more > 0) rows.push({text: `and ${plural(more, 'weaker word')} that the page leaves out`, p: null});
    return rows.map((row, at) => ({...row, level: level + 1, pos: at + 1, size: rows.length}));
  }

  render() {
    const {scrollTop, clientHeight} = this.holder;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const end = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + SPARE);
    const rows = [];
    for (let at = first; at < end; at++) rows.push(this.row(at));
    this.space.replaceChildren(...rows);
    const seen = this.active >= first && this.active < end;
    if (seen) this.holder.setAttribute('aria-activedescendant', `row-${this.active}`);
    else this.holder.removeAttribute('aria-activedescendant');
    const row = this.rows[this.active];
    byId('focus-branch').disabled = !row || row.id === undefined;
  }

  row(at) {
    const row = this.rows[at], isTopic = row.id !== undefined, canOpen = this.canOpen(row);
    const element = el('div', {class: `row${isTopic ? '' : ' word'}${at === this.active ? ' active' : ''}`, role: 'treeitem', id: `row-${at}`,
      'aria-level': row.level, 'aria-posinset': row.pos, 'aria-setsize': row.size, 'aria-selected': at === this.active ? 'true' : 'false',
      'aria-expanded': canOpen ? String(!!row.isOpen) : null, onclick: event => this.click(at, event)},
      el('span', {class: 'twist', 'aria-hidden': 'true'}, canOpen ? (row.isOpen ? '▾' : '▸') : ''),
      isTopic ? this.topicCell(row) : el('div', {class: 'what'}, row.text ?? this.marked(this.words.names[row.word])),
      el('div', {class: 'figures'}, row.p !== null && [meter(row.p), el('span', {title: 'Probability that the topic above alone switches it on'}, chance(row.p))],
        summary.docs && (isTopic ? el('span', {title: 'Prevalence: mean probability over the documents'}, percent(this.topics.mean[row.id])) : el('span', {class: 'wide'}))));
    element.style.top = `${at * ROW}px`;
    element.style.paddingInlineStart = `${10 + Math.min(row.level - 1, 12) * 20}px`;
    return element;
  }

  topicCell({id}) {
    const link = el('a', {href: `#topic/${id}`, tabindex: -1}, this.marked(this.topics.names[id]));
    return el('div', {class: 'what'}, link, el('span', {class: 'quiet'}, this.topWords(id)));
  }

  // The strongest words, those that were searched for first.
  topWords(id) {
    if (!this.words) return '…';
    const {lists, names} = this.words;
    let list = wordsThrough(this.topics, this.words, id).map(({id}) => names[id]);
    if (this.terms.length) list = [...lists.of(id).map(({id}) => names[id]), ...list].filter((text, at, all) => all.indexOf(text) === at);
    if (this.terms.length) list = [...list.filter(text => this.hits(text)), ...list.filter(text => !this.hits(text))];
    const words = list.slice(0, SHOWN_WORDS).flatMap((text, at) => [at ? ', ' : '', this.marked(text)]);
    return words.length ? words : 'no words';
  }

  hits(text) {
    const lower = text.toLowerCase();
    return this.terms.some(term => lower.includes(term));
  }

  marked(text) {
    const lower = text.toLowerCase(), term = this.terms.find(term => lower.includes(term));
    // Where lower case has another length, places differ: nothing is marked.
    if (!term || lower.length !== text.length) return name(text, '');
    const from = lower.indexOf(term), to = from + term.length;
    return el('bdi', {class: 'name', dir: 'auto', title: text}, text.slice(0, from), el('mark', {}, text.slice(from, to)), text.slice(to));
  }

  click(at, event) {
    this.active = at;
    if (event.target.closest('a')) this.render();
    else if (this.canOpen(this.rows[at])) this.toggle(at);
    else this.render();
  }

  move(to) {
    this.active = Math.min(Math.max(to, 0), this.rows.length - 1);
    const top = this.active * ROW, {scrollTop, clientHeight} = this.holder;
    if (top < scrollTop) this.holder.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.holder.scrollTop = top + ROW - clientHeight;
    this.render();
  }

  key(event) {
    const at = this.active, row = this.rows[at], page = Math.max(1, Math.floor(this.holder.clientHeight / ROW) - 1);
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const right = () => row.isOpen ? this.move(at + 1) : this.toggle(at);
    const left = () => {
      if (row.isOpen) return this.toggle(at);
      let up = at;
      while (up > 0 && this.rows[up].level >= row.level) up--;
      if (this.rows[up].level < row.level) this.move(up);
    };
    const keys = {ArrowDown: () => this.move(at + 1), ArrowUp: () => this.move(at - 1), Home: () => this.move(0), End: () => this.move(this.rows.length - 1),
      PageDown: () => this.move(at + page), PageUp: () => this.move(at - page), ArrowRight: right, ArrowLeft: left, ' ': () => this.toggle(at),
      Enter: () => { if (row.id !== undefined) this.open(row.id); }};
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

// Topics that hold every term in their name or in one of their words: by name first, then by how strong the word is; whole before
// in part.
function search(topics, words, terms) {
  const score = new Float64Array(topics.n).fill(Infinity);
  for (const term of terms) {
    const worth = (text, whole, part) => { const lower = text.toLowerCase(); return lower === term ? whole : lower.includes(term) ? part : 0; };
    const holds = words.names.map(text => worth(text, 1.5, 0.001));
    for (let id = 0; id < topics.n; id++) {
      if (score[id] === 0) continue;
      const ofName = worth(topics.names[id], 5, 3);
      let best = ofName && ofName + topics.mean[id];
      for (let i = words.lists.ends[id]; i < words.lists.ends[id + 1]; i++) {
        const ofWord = holds[words.lists.ids[i]];
        if (ofWord) best = Math.max(best, ofWord + words.lists.p(i));
      }
      score[id] = Math.min(score[id], best);
    }
  }
  const found = [...score.keys()].filter(id => score[id] > 0);
  return found.sort((a, b) => score[b] - score[a] || a - b);
}
