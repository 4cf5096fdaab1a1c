// The page: sections filled in, one topic shown by the address, and the way back.

const notice = text => byId('notices').append(el('p', {class: 'notice'}, text));

function showRun() {
  const {docs, metrics} = summary;
  document.title = summary.title;
  for (const id of ['brand', 'run-title']) fill(byId(id), {dir: 'auto', title: summary.title}, [summary.title]);
  const best = metrics.valid.filter(value => value !== null).reduce((a, b) => a === null || b > a ? b : a, null);
  byId('tiles').append(tile(count(summary.topics), 'topics'), tile(count(summary.tokens), 'tokens'), tile(count(summary.edges), 'edges'));
  if (docs) byId('tiles').append(tile(count(docs.all), 'documents'));
  if (best !== null) byId('tiles').append(tile(nats(best), `best held-out bound (${metrics.bound})`));
  if (summary.no_docs) notice(summary.no_docs);
  if (docs && docs.looked_at < docs.all) notice(`Figures of topics and documents are from ${count(docs.looked_at)} of ${count(docs.all)} documents, drawn at random.`);
  if (summary.left_out) notice(`To keep this page small these are left out: ${summary.left_out}.`);
  byId('about').append(...summary.about.map(({title, rows}) =>
    el('div', {}, el('h3', {}, title), el('dl', {}, rows.map(([key, value]) => [el('dt', {}, key), el('dd', {dir: 'auto'}, value)])))));
  byId('curves-body').append(...curves(metrics));
}

function showWeights(topics) {
  const {weights, docs} = summary, never = docs ? topics.on.flatMap((n, id) => n ? [] : [id]) : [];
  const edge = el('div', {class: 'three'}, decades('Weights of edges', weights.edges, 'valid'), decades('Leaks of topics', weights.topic_leaks, 'train'),
    decades('Leaks of tokens', weights.token_leaks, 'train'));
  const tiles = el('div', {class: 'tiles'}, docs && tile(count(never.length), 'dead topics: q ≥ 0.5 in no document looked at'),
    tile(count(summary.switch_nothing), 'topics whose weights are all below 0.001'), tile(count(summary.at_floor), `edges at the floor of ${summary.floor}`));
  byId('weights-body').append(edge, tiles);
  if (never.length) {
    const shown = never.slice(0, 200);
    byId('weights-body').append(el('details', {}, el('summary', {}, 'The dead topics'), el('p', {class: 'words'}, shown.map(id => topicLink(topics, id, {class: 'w'})),
      never.length > shown.length && `and ${count(never.length - shown.length)} more`)));
  }
}

function showTree(topics) {
  const status = byId('tree-status'), input = byId('search');
  const tree = new Tree(topics, id => { location.hash = `topic/${id}`; });
  byId('topics-lead').textContent = summary.docs ? 'From the top layer down to words. On the right: the probability that the topic above alone switches this one on, and its prevalence, the mean ' +
    'probability of being on over the documents, as noisyor infer has it.' : 'From the top layer down to words, with the probability that the topic above alone switches each on.';
  const crumbs = path => byId('crumbs').replaceChildren(...(path ? [el('button', {type: 'button', class: 'plain', onclick: () => all()}, 'All topics'),
    ...path.flatMap(id => ['›', el('button', {type: 'button', class: 'plain clip', onclick: () => focus(id)}, name(topics.names[id], ''))])] : []));
  const all = () => {
    input.value = '';
    crumbs(null);
    tree.setRoots(topics.roots);
    status.textContent = `${plural(topics.n, 'topic')}, ${count(topics.roots.length)} at the top`;
  };
  const focus = id => {
    input.value = '';
    crumbs(topics.path(id));
    tree.setRoots([id]);
    tree.toggle(0);
    status.textContent = `The branch of one topic: ${plural(topics.children.length(id), 'topic')} directly below`;
  };
  let waiting;
  const look = async () => {
    const words = await loadWords(), terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!terms.length) return all();
    const found = search(topics, words, terms);
    crumbs(null);
    tree.setRoots(found, terms);
    status.textContent = found.length ? `${plural(found.length, 'topic')} found` : 'No topic has this in its name or words';
  };
  input.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
  input.addEventListener('keydown', event => { if (event.key === 'ArrowDown') { event.preventDefault(); tree.holder.focus(); } });
  byId('collapse').addEventListener('click', all);
  byId('focus-branch').addEventListener('click', () => { focus(tree.rows[tree.active].id); tree.holder.focus(); });
  all();
  return {tree, focus};
}

async function showDocuments() {
  const body = byId('documents-body'), {docs} = summary;
  if (!docs) return body.append(el('p', {class: 'lead'}, summary.no_docs));
  if (!docs.looked_at) return body.append(el('p', {class: 'lead'}, 'The corpus has no documents.'));
  const kinds = KINDS.filter((_, part) => docs.counts[part] > 0);
  body.append(el('p', {class: 'lead'}, `Lower bound (${docs.bound}) of the log-likelihood of ${plural(docs.looked_at, 'document')}.`), docTiles(docs),
    ...(docs.of_run ? [legend(kinds)] : []), boundsHistogram(docs));
  body.append(...await worstDocuments());
}

// Either the overview or one topic, by the address; the overview comes back as it was left.
function routing(goTo) {
  const overview = byId('overview'), view = byId('topic');
  let left = null, shown = 0;
  const route = async () => {
    const hash = location.hash.slice(1), topic = /^topic\/(\d+)$/.exec(hash), turn = ++shown;
    if (topic) {
      clicked = false;
      if (view.hidden) left = {scroll: scrollY, focus: document.activeElement};
      const content = await topicView(Number(topic[1]), goTo);
      if (turn !== shown) return;
      view.replaceChildren(...content.filter(Boolean));
      [overview.hidden, view.hidden] = [true, false];
      scrollTo({top: 0, behavior: 'instant'});
      view.querySelector('h1').focus({preventScroll: true});
      return;
    }
    const [isBack, place] = [!clicked && left, hash && byId(hash)];
    clicked = false;
    if (view.hidden) return;
    [overview.hidden, view.hidden] = [false, true];
    if (isBack) {
      scrollTo({top: left.scroll, behavior: 'instant'});
      left.focus?.focus({preventScroll: true});
    } else if (place) {
      place.scrollIntoView({behavior: 'instant'});
      place.querySelector('h1, h2').focus({preventScroll: true});
    }
  };
  // A link to a section is wanted there, the way back where one was.
  let clicked = false;
  document.addEventListener('click', event => {
    const link = event.target.closest('a[href^="#"]');
    clicked = !!link && !link.getAttribute('href').startsWith('#topic/');
  });
  addEventListener('hashchange', route);
  return {route, go: hash => { clicked = true; location.hash = hash; }};
}

async function start() {
  showRun();
  byId('foot').append('Made by noisyor. This page is whole: it loads nothing from elsewhere.');
  const topics = await loadTopics(), {tree, focus} = showTree(topics);
  showWeights(topics);
  const {route, go} = routing(id => { focus(id); go('topics'); });
  await route();
  tree.words = await loadWords();
  tree.render();
  await showDocuments();
  showCalibration();
  document.documentElement.dataset.ready = 'yes';
}
start().catch(error => { notice(`The page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`); console.error(error); });
