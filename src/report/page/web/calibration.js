// How far probabilities can be trusted: of topics with a probability, the share that is on.

function showCalibration() {
  const {calibration} = summary;
  if (!calibration) return;
  byId('calibration').hidden = byId('calibration-link').hidden = false;
  const kinds = [['train', 'q (mean field)', calibration.q], ['valid', 'p (noisyor posterior)', calibration.p]].filter(([, , of]) => of);
  const sure = ([, text, of]) => of.sure && tile(`${(100 * of.sure_on).toFixed(1)}%`, `of ${count(of.sure)} topics with ${text} ≥ 0.95 are on`);
  const chart = drawn(330, (width, height) => {
    const box = frame(width, height);
    const x = value => box.left + 6 + value * (box.right - box.left - 12), y = value => box.bottom - value * (box.bottom - box.top);
    const line = ([kind, text, of]) => {
      const bins = of.bins.filter(bin => bin.n);
      return [svg('polyline', {class: `line ${kind}`, points: bins.map(bin => `${x(bin.mean).toFixed(1)},${y(bin.on).toFixed(1)}`).join(' ')}),
        bins.map(bin => svg('circle', {class: `point ${kind}`, cx: x(bin.mean).toFixed(1), cy: y(bin.on).toFixed(1), r: 3.2},
          svg('title', {}, `${text}: ${plural(bin.n, 'topic')} with ${bin.mean.toFixed(3)} on average, ${bin.on.toFixed(3)} of them on`)))];
    };
    return svg('svg', {height, viewBox: `0 0 ${width} ${height}`, role: 'img', id: 'calibration-chart',
      'aria-label': 'The share of topics that is on against their probability; the table below has all values'},
      axes(box, x, y, [0, 0.2, 0.4, 0.6, 0.8, 1], [0, 0.2, 0.4, 0.6, 0.8, 1], 'Probability', 'Share that is on'),
      svg('line', {class: 'axis', x1: x(0), y1: y(0), x2: x(1), y2: y(1)}), kinds.map(line));
  });
  const cells = bin => bin.n ? [count(bin.n), bin.mean.toFixed(3), bin.on.toFixed(3)] : ['0', '', ''];
  const rows = calibration.q.bins.map((bin, at) => [`${bin.from} to ${bin.to}`, ...kinds.flatMap(([, , of]) => cells(of.bins[at]))]);
  byId('calibration-body').append(
    el('p', {class: 'lead'}, `${plural(calibration.cases, 'case')} sampled from the model. Of the topics with a certain probability, which share is on? On the straight line ` +
      'a probability is right; below it, it is too sure.'),
    el('div', {class: 'tiles'}, kinds.map(sure)), legend(kinds.map(([kind, text]) => [kind, text])), chart.holder,
    el('details', {}, el('summary', {}, 'The same as a table'),
      table(['Probability', ...kinds.flatMap(([, text]) => [`Topics (${text[0]})`, 'Mean', 'On'])], rows)));
}
