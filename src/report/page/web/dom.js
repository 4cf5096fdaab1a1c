// Elements, numbers for people, and names, which can hold anything and are always text.

const byId = id => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== false && child != null));
  return element;
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const grouped = new Intl.NumberFormat('en');
const count = n => grouped.format(n);
const plural = (n, one, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;
const nats = value => value.toFixed(3).replace('-', '−');
// A probability to three digits; thousandths are as fine as those of edges are kept.
const chance = p => p >= 0.9995 ? '1.00' : p < 0.0005 ? '<0.001' : p.toFixed(p < 0.0995 ? 3 : 2);
const percent = p => p === 0 ? '0%' : p < 1e-6 ? '<0.0001%' : `${Number((100 * p).toPrecision(3))}%`;

// A name on one line, whole on hover, in its own direction.
const name = (text, type = 'clip') => el('bdi', {class: `name ${type}`, dir: 'auto', title: text.length > 24 ? text : null}, text || '(no name)');
const topicLink = (topics, id, attributes = {}) =>
  el('a', {href: `#topic/${id}`, class: 'clip', ...attributes}, name(topics.names[id], ''));
const meter = p => {
  const bar = el('i');
  bar.style.width = `${Math.max(2, 100 * p)}%`;
  return el('span', {class: 'meter', 'aria-hidden': 'true'}, bar);
};

function table(headers, rows) {
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': headers.join(', ')}, el('table', {},
    el('thead', {}, el('tr', {}, headers.map(text => el('th', {scope: 'col'}, text)))),
    el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell => el('td', {}, cell)))))));
}

// Radio buttons side by side; `change` gets the value chosen.
function choice(label, options, change) {
  const group = 'choice-' + label.replace(/\W/g, '-');
  return el('fieldset', {class: 'choice'}, el('legend', {class: 'hidden'}, label), options.map(([value, text], at) =>
    el('label', {}, el('input', {type: 'radio', name: group, value, checked: at === 0, onchange: () => change(value)}), el('span', {}, text))));
}

const tile = (figure, text) => el('div', {class: 'tile'}, el('b', {}, figure), el('span', {}, text));
const legend = kinds => el('div', {class: 'legend'}, kinds.map(([type, text]) => el('span', {}, el('i', {class: `key ${type}`}), text)));
