// The sections of data: decompressed and read when they are first wanted.

const summary = JSON.parse(document.getElementById('summary').textContent);

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  // 7 bits a byte, the lowest first.
  number() {
    let value = 0, scale = 1, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }
  // Thousandths of a nat, the lowest bit is the sign.
  nats() {
    const code = this.number();
    return (code % 2 ? -(code + 1) / 2 : code / 2) / 1000;
  }
  // 5 bits of exponent from 2^-31, 11 of mantissa; 0 is zero.
  probability() {
    const code = this.bytes[this.at] | this.bytes[this.at + 1] << 8;
    this.at += 2;
    return code && 2 ** ((code >> 11) - 31) * (1 + (code & 2047) / 2048);
  }
  texts() {
    const lengths = Array.from({length: this.number()}, () => this.number()), n_bytes = this.number();
    const all = new TextDecoder('utf-8', {ignoreBOM: true}).decode(this.bytes.subarray(this.at, this.at + n_bytes));
    this.at += n_bytes;
    let from = 0;
    return lengths.map(length => all.slice(from, from += length));
  }
  // Numbers in the order of first use, as distances from the next one.
  numbering() {
    let next = 0;
    return () => { const distance = this.number(); return distance ? next - distance : next++; };
  }
}

async function section(name) {
  const text = atob(document.getElementById('data-' + name).textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Reader(new Uint8Array(await new Response(stream).arrayBuffer()));
}

const once = load => { let loading; return () => loading ??= load(); };

// Lists of (number, probability) one after another; probabilities are thousandths until somebody asks.
class Lists {
  constructor() { this.ends = [0]; this.ids = []; this.thousandths = []; }
  add(id, thousandths) { this.ids.push(id); this.thousandths.push(thousandths); }
  end() { this.ends.push(this.ids.length); }
  length(at) { return this.ends[at + 1] - this.ends[at]; }
  p(i) { return this.thousandths[i] / 1000; }
  of(at) {
    const list = [];
    for (let i = this.ends[at]; i < this.ends[at + 1]; i++) list.push({id: this.ids[i], p: this.p(i)});
    return list;
  }
  // The same the other way round, of numbers below n: who lists each one.
  turned(n) {
    const turned = new Lists(), next = new Uint32Array(n + 1);
    for (const id of this.ids) next[id + 1]++;
    for (let id = 0; id < n; id++) next[id + 1] += next[id];
    turned.ends = Array.from(next);
    [turned.ids, turned.thousandths] = [new Uint32Array(this.ids.length), new Uint16Array(this.ids.length)];
    for (let at = 0; at + 1 < this.ends.length; at++) {
      for (let i = this.ends[at]; i < this.ends[at + 1]; i++) {
        const place = next[this.ids[i]]++;
        [turned.ids[place], turned.thousandths[place]] = [at, this.thousandths[i]];
      }
    }
    return turned;
  }
}

// All topics: columns of figures, parents, children (parents the other way round), names.
const loadTopics = once(async () => {
  const [read, names] = [await section('graph'), (await section('names')).texts()];
  const n = read.number(), column = next => Array.from({length: n}, next);
  const topics = {n, names, level: column(() => read.number()), mean: column(() => read.probability()),
    leak: column(() => read.probability()), on: column(() => read.number()), parents: new Lists()};
  for (let topic = 0; topic < n; topic++) {
    for (let left = read.number(); left > 0; left--) topics.parents.add(read.number(), read.number());
    topics.parents.end();
  }
  topics.children = topics.parents.turned(n);
  topics.below = id => topics.children.of(id).sort((a, b) => b.p - a.p || a.id - b.id);
  const weight = id => summary.docs ? topics.mean[id] : topics.leak[id];
  topics.byUse = (a, b) => weight(b) - weight(a) || a - b;
  topics.roots = column((_, id) => id).filter(id => topics.parents.length(id) === 0).sort(topics.byUse);
  // From the top down to the topic, each time by the strongest parent.
  topics.path = id => {
    const path = [id];
    while (topics.parents.length(path[0])) path.unshift(topics.parents.ids[topics.parents.ends[path[0]]]);
    return path;
  };
  return topics;
});

// The words of all topics, and the names of all words that the page shows.
const loadWords = once(async () => {
  const [{n}, read, names] = [await loadTopics(), await section('words'), (await section('vocabulary')).texts()];
  const words = {names, lists: new Lists(), total: [], through: new Map()}, next = read.numbering();
  for (let topic = 0; topic < n; topic++) {
    words.total.push(read.number());
    for (let left = read.number(); left > 0; left--) words.lists.add(next(), read.number());
    words.lists.end();
  }
  return words;
});

// Words that a topic is most likely to switch on, itself or through topics below, strongest first. Weak paths are left out: they
// cannot lead to strong words, and there are too many.
function wordsThrough(topics, words, id) {
  const WIDTH = 64, known = words.through.get(id);
  if (known) return known;
  const found = new Map(), add = (map, id, p) => map.set(id, 1 - (1 - (map.get(id) ?? 0)) * (1 - p));
  const strongest = (map, most) => [...map].map(([id, p]) => ({id, p})).sort((a, b) => b.p - a.p || a.id - b.id).slice(0, most);
  for (let level = [{id, p: 1}]; level.length;) {
    const below = new Map();
    for (const {id, p: on} of level) {
      topics.children.of(id).forEach(({id, p}) => add(below, id, on * p));
      words.lists.of(id).forEach(({id, p}) => add(found, id, on * p));
    }
    level = strongest(below, WIDTH);
  }
  const list = strongest(found, 30);
  words.through.set(id, list);
  return list;
}

// The documents of all topics, the worst documents, and what is known of each.
const loadDocs = once(async () => {
  const [{n}, read] = [await loadTopics(), await section('docs')];
  const lists = new Lists(), next = read.numbering();
  for (let topic = 0; topic < n; topic++) {
    for (let left = read.number(); left > 0; left--) lists.add(next(), read.number());
    lists.end();
  }
  const many = item => Array.from({length: read.number()}, item);
  const worst = ['word', 'document'].map(() => many(() => ({
    doc: next(), perWord: read.nats(), bound: read.nats(), costs: many(() => ({word: read.number(), cost: read.nats()})),
  })));
  const all = many(() => ({part: read.number(), total: read.number(), words: many(() => read.number())}));
  const [ids, labels] = [read.texts(), read.texts()];
  all.forEach((doc, at) => Object.assign(doc, {id: ids[at], label: labels[at]}));
  return {lists, worst, all};
});
