// Curves and histograms as SVG, each with a table that says the same.

// Round numbers between two values, about `n` of them.
function ticks(low, high, n) {
  const rough = (high - low || 1) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough * 0.999);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) list.push(Number((i * step).toPrecision(12)));
  return list;
}
const label = value => String(value).replace('-', '−');

const frame = (width, height) => ({left: 58, right: width - 14, top: 12, bottom: height - 44, width, height});
function axes(box, x, y, xTicks, yTicks, xTitle, yTitle, xLabel = label) {
  return [
    yTicks.map(value => [svg('line', {class: 'grid', x1: box.left, x2: box.right, y1: y(value), y2: y(value)}),
      svg('text', {x: box.left - 8, y: y(value) + 4, 'text-anchor': 'end'}, label(value))]),
    svg('line', {class: 'axis', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}),
    xTicks.map(value => svg('text', {x: x(value), y: box.bottom + 18, 'text-anchor': 'middle'}, xLabel(value))),
    svg('text', {x: (box.left + box.right) / 2, y: box.height - 6, 'text-anchor': 'middle'}, xTitle),
    svg('text', {transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle'}, yTitle),
  ];
}

// Draws now and whenever the width changes.
function drawn(height, draw) {
  const holder = el('div');
  const redraw = () => {
    const width = holder.clientWidth;
    if (width) holder.replaceChildren(draw(width, height));
  };
  new ResizeObserver(redraw).observe(holder);
  return {holder, redraw};
}

const KINDS = [['train', 'Training'], ['valid', 'Held out'], ['test', 'Test']];

function curves(metrics) {
  const n = metrics.step.length;
  const kinds = KINDS.filter(([kind]) => metrics[kind]?.some(value => value !== null));
  if (!n || !kinds.length) return [el('p', {class: 'lead'}, 'There are no evaluations: the weights are those that were there at the start.')];
  const last = metrics.seconds[n - 1];
  const [unit, seconds] = last > 7200 ? ['hours', 3600] : last > 120 ? ['minutes', 60] : ['seconds', 1];
  const time = metrics.seconds.map(value => value / seconds);
  const state = {over: 'epoch', range: 'all', at: null};
  const readout = el('p', {class: 'readout', role: 'status'}, 'Point at the chart, or focus it and use the arrow keys.');
  const tell = at => `Epoch ${Number(metrics.epoch[at].toFixed(2))}, step ${count(metrics.step[at])}, ${metrics.seconds[at].toFixed(1)} s: ` +
    kinds.filter(([kind]) => metrics[kind][at] !== null).map(([kind, text]) => `${text.toLowerCase()} ${nats(metrics[kind][at])}`).join(', ');

  const chart = drawn(330, (width, height) => {
    const xs = state.over === 'epoch' ? metrics.epoch : time, box = frame(width, height);
    const values = kinds.flatMap(([kind]) => metrics[kind].filter(value => value !== null)).sort((a, b) => a - b);
    // A close-up leaves out the lowest values, which are those of the first epochs.
    let low = values[state.range === 'all' ? 0 : Math.floor(values.length / 4)], high = values[values.length - 1];
    const margin = (high - low || Math.abs(high) || 1) * 0.06;
    [low, high] = [low - margin, high + margin];
    const xHigh = Math.max(...xs) || 1;
    const x = value => box.left + 6 + value / xHigh * (box.right - box.left - 12);
    const y = value => box.top + (high - value) / (high - low) * (box.bottom - box.top);
    const line = ([kind, text]) => {
      const at = [...xs.keys()].filter(i => metrics[kind][i] !== null);
      return [svg('polyline', {class: `line ${kind}`, points: at.map(i => `${x(xs[i]).toFixed(1)},${y(metrics[kind][i]).toFixed(1)}`).join(' ')}),
        at.map(i => svg('circle', {class: `point ${kind}`, cx: x(xs[i]).toFixed(1), cy: y(metrics[kind][i]).toFixed(1), r: n > 150 ? 1.6 : 3.2},
          svg('title', {}, `${text}: ${tell(i)}`)))];
    };
    const cursor = svg('line', {class: 'cursor', y1: box.top, y2: box.bottom, visibility: 'hidden'});
    const move = at => {
      state.at = at;
      ['x1', 'x2'].forEach(end => cursor.setAttribute(end, x(xs[at])));
      cursor.setAttribute('visibility', 'visible');
      readout.textContent = tell(at);
    };
    const point = event => {
      const px = event.clientX - event.currentTarget.getBoundingClientRect().left;
      move([...xs.keys()].reduce((best, i) => Math.abs(x(xs[i]) - px) < Math.abs(x(xs[best]) - px) ? i : best));
    };
    const key = event => {
      const to = {ArrowRight: (state.at ?? -1) + 1, ArrowLeft: (state.at ?? n) - 1, Home: 0, End: n - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      move(Math.min(Math.max(to, 0), n - 1));
    };
    const clip = svg('clipPath', {id: 'inside'}, svg('rect', {x: box.left, y: box.top - 4, width: box.right - box.left, height: box.bottom - box.top + 4}));
    return svg('svg', {height, viewBox: `0 0 ${width} ${height}`, role: 'img', tabindex: 0, onpointermove: point, onkeydown: key, id: 'curve-chart',
      'aria-label': `The bound against ${state.over === 'epoch' ? 'epochs' : 'time'}; the table below has all values`},
      clip, axes(box, x, y, ticks(0, xHigh, Math.min(8, width / 90)), ticks(low, high, 5), state.over === 'epoch' ? 'Epochs' : `Time in ${unit}`,
        'Nats a document'), svg('g', {'clip-path': 'url(#inside)'}, kinds.map(line)), cursor);
  });
  const rows = metrics.step.map((step, i) => [Number(metrics.epoch[i].toFixed(2)), count(step), metrics.seconds[i].toFixed(1),
    ...kinds.map(([kind]) => metrics[kind][i] === null ? '' : nats(metrics[kind][i])), count(metrics.n_edges[i])]);
  const change = key => value => { state[key] = value; chart.redraw(); };
  const thinned = metrics.n_all > n ? ` The run has ${count(metrics.n_all)} evaluations; ${count(n)} of them are shown.` : '';
  return [
    el('p', {class: 'lead'}, `Mean lower bound (${metrics.bound}) of the log-likelihood of a document, after each evaluation.${thinned}`),
    el('div', {class: 'tools'}, choice('Against', [['epoch', 'Epochs'], ['time', 'Time']], change('over')),
      choice('Range', [['all', 'All'], ['close', 'Close-up']], change('range')), legend(kinds)),
    chart.holder, readout,
    el('details', {}, el('summary', {}, 'The same as a table'),
      table(['Epoch', 'Step', 'Seconds', ...kinds.map(([, text]) => text), 'Edges'], rows)),
  ];
}

// Bars side by side: bins of {from, to, counts, title}; counts of several kinds are stacked.
function histogram(title, bins, kinds, {xTitle, xTicks, xLabel, round = x => x}) {
  if (!bins.length) return el('div', {}, el('h3', {}, title), el('p', {class: 'quiet'}, 'None.'));
  const total = bin => bin.counts.reduce((a, b) => a + b, 0);
  const low = round(bins[0].from, Math.floor), high = round(bins[bins.length - 1].to, Math.ceil), most = Math.max(...bins.map(total));
  const all = bins.reduce((sum, bin) => sum + total(bin), 0);
  const chart = drawn(220, (width, height) => {
    const box = frame(width, height);
    const x = value => box.left + (value - low) / (high - low) * (box.right - box.left);
    const y = value => box.bottom - value / most * (box.bottom - box.top);
    const bar = bin => {
      let under = 0;
      return bin.counts.map((n, kind) => n > 0 && svg('rect', {class: kinds[kind], rx: 1.5, x: x(bin.from) + 0.5,
        width: Math.max(1, x(bin.to) - x(bin.from) - 1), y: y(under + n), height: Math.max(1, y(under) - y(under += n))}, svg('title', {}, `${bin.title}: ${count(n)}`)));
    };
    return svg('svg', {height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title}: ${count(all)} in ${bins.length} bins; the table has the counts`},
      axes(box, x, y, xTicks(low, high, width), ticks(0, most, 3), xTitle, '', xLabel), bins.map(bar));
  });
  return el('div', {}, el('h3', {}, title), chart.holder, el('details', {}, el('summary', {}, 'As a table'),
    table([xTitle, 'Count'], bins.map(bin => [bin.title, count(total(bin))]))));
}

const SUPER = {'-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹'};
const power = value => '10' + [...String(value)].map(c => SUPER[c]).join('');

// Weights by their logarithm: pairs of bin and count.
function decades(title, pairs, kind) {
  const per = summary.weights.per_decade, at = bin => 10 ** (bin / per);
  const bins = pairs.map(([bin, n]) => ({from: bin / per, to: (bin + 1) / per, counts: [n], title: `${at(bin).toPrecision(2)} to ${at(bin + 1).toPrecision(2)}`}));
  const xTicks = (low, high, width) => ticks(low, high, Math.min(7, width / 60)).filter(Number.isInteger);
  return histogram(title, bins, [kind], {xTitle: 'Weight', xTicks, xLabel: power, round: (value, whole) => whole(value)});
}
