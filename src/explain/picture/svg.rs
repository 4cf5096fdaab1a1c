//! The picture as SVG: topics by layer, words below, each with a bar of the shares that explain it.

use super::{Link, Picture};
use crate::columns::{fit, width};
use crate::explain::{Explanation, WordView, probability_text};
use crate::markup::xml;
use crate::network::Network;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// Sizes in pixels.
const MIN_WIDTH: f64 = 560.0;
const MARGIN: f64 = 24.0;
const WORD_PITCH: f64 = 24.0;
const TOPIC: (f64, f64) = (132.0, 32.0);
const TOPIC_PITCH: f64 = 146.0;
/// Topics in a row; more of a layer stand in rows that interlock.
const ROW: usize = 7;
const ROW_GAP: f64 = 62.0;
const BAR: (f64, f64) = (12.0, 34.0);
/// Words hang down at an angle: what they take, per column, and what is below.
const COLUMN_HEIGHT: f64 = 6.5;
const BELOW: f64 = 50.0;
/// Names are cut to so many columns.
const TOPIC_COLUMNS: usize = 17;
const WORD_COLUMNS: usize = 20;
const N_COLOURS: usize = 10;

/// Colours of topics on a light ground and on a dark one.
const COLOURS: [(&str, &str); N_COLOURS] = [
    ("#2f6fb0", "#7db4ec"),
    ("#b5541c", "#f0a06a"),
    ("#2e7d4f", "#7fce9d"),
    ("#8a3f9e", "#cf96e0"),
    ("#a8323e", "#f08a94"),
    ("#5d6b1f", "#b9c96a"),
    ("#1f7a8c", "#6fc6d8"),
    ("#7a5a3a", "#cfa987"),
    ("#b0357c", "#ef8fc4"),
    ("#4a4fb0", "#a3a7f5"),
];

/// One document's local model as an SVG picture, for light and dark pages.
pub fn svg(network: &Network, explanation: &Explanation) -> String {
    let picture = Picture::new(network, explanation);
    let layout = Layout::new(&picture);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" class="nx" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img">"#,
        w = layout.width,
        h = layout.height
    );
    let _ = write!(
        svg,
        "<title>Topics of one document and the words they explain</title><style>{}</style>",
        style()
    );
    let _ = write!(svg, r#"<rect class="nx-ground" width="{}" height="{}"/>"#, layout.width, layout.height);
    for link in &picture.links {
        write_link(&mut svg, &picture, &layout, link);
    }
    for place in 0..picture.topics.len() {
        write_topic(&mut svg, &picture, &layout, place);
    }
    for word in &picture.words {
        write_word(&mut svg, &picture, &layout, word);
    }
    let note = if picture.words.is_empty() { "no word of the vocabulary".into() } else { picture.left_out() };
    let _ = write!(svg, r#"<text class="nx-note" x="{MARGIN}" y="{}">{note}</text>"#, layout.height - 10.0);
    svg + "</svg>\n"
}

fn style() -> String {
    let mut style = String::from(
        ".nx{font-family:system-ui,sans-serif;font-size:12px}.nx text{unicode-bidi:isolate}.nx-ground{fill:#fff}\
         .nx-word,.nx-note{fill:#222}.nx-note{fill:#666}.nx-on text{fill:#fff;text-anchor:middle}\
         .nx-off rect{fill:none;stroke:#aaa;stroke-dasharray:4 3}.nx-off text{fill:#777;text-anchor:middle}\
         .nx-link{fill:none;stroke-opacity:.55}.nx-might{fill:none;stroke:#aaa;stroke-dasharray:2 4}.nx-leak{fill:#bbb}",
    );
    let mut dark = String::from(
        ".nx-ground{fill:#16181c}.nx-word{fill:#e4e4e4}.nx-note{fill:#999}.nx-on text{fill:#111}\
         .nx-off rect,.nx-might{stroke:#666}.nx-off text{fill:#999}.nx-leak{fill:#555}",
    );
    for (at, (light_colour, dark_colour)) in COLOURS.iter().enumerate() {
        for (style, colour) in [(&mut style, light_colour), (&mut dark, dark_colour)] {
            let _ = write!(style, ".nx-f{at}{{fill:{colour}}}.nx-s{at}{{stroke:{colour}}}");
        }
    }
    style + "@media(prefers-color-scheme:dark){" + &dark + "}"
}

/// Where everything stands.
struct Layout {
    width: f64,
    height: f64,
    /// The middle of every node's upper edge.
    at: FxHashMap<u32, (f64, f64)>,
    /// The colour of every topic that is on.
    colour: FxHashMap<u32, usize>,
}

impl Layout {
    fn new(picture: &Picture<'_>) -> Self {
        let levels = levels(picture);
        let widest = levels.iter().map(|level| level.len().min(ROW)).max().unwrap_or(0);
        let needed =
            (picture.words.len() as f64 * WORD_PITCH).max(widest as f64 * TOPIC_PITCH) + 2.0 * MARGIN;
        let room = needed.max(MIN_WIDTH);
        let slot = |at: usize, n: usize| MARGIN + (at as f64 + 0.5) * (room - 2.0 * MARGIN) / n as f64;
        let n_rows: usize = levels.iter().map(|level| level.len().div_ceil(ROW)).sum();
        let word_y = MARGIN + n_rows as f64 * ROW_GAP + 20.0;
        let longest = picture.words.iter().map(|word| width(&label(picture, word))).max().unwrap_or(0);
        let mut layout = Self {
            width: room,
            height: word_y + BAR.1 + longest as f64 * COLUMN_HEIGHT + BELOW,
            at: FxHashMap::default(),
            colour: FxHashMap::default(),
        };
        for (at, word) in picture.words.iter().enumerate() {
            layout.at.insert(word.node, (slot(at, picture.words.len()), word_y));
        }
        // From the words upwards: a topic stands above what it explains.
        let mut first_row = n_rows;
        for level in levels.into_iter().rev() {
            let n_rows = level.len().div_ceil(ROW);
            first_row -= n_rows;
            let mut topics: Vec<(f64, u32)> =
                level.iter().map(|&topic| (layout.middle_of_children(picture, topic), topic)).collect();
            topics.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (at, &(_, topic)) in topics.iter().enumerate() {
                let y = MARGIN + (first_row + at % n_rows) as f64 * ROW_GAP;
                let edge = TOPIC.0 / 2.0 + 4.0;
                layout.at.insert(topic, (slot(at, topics.len()).clamp(edge, room - edge), y));
            }
        }
        let on = picture.topics[..picture.n_on].iter().enumerate();
        layout.colour = on.map(|(at, part)| (part.topic, at % N_COLOURS)).collect();
        layout
    }

    fn middle_of_children(&self, picture: &Picture<'_>, topic: u32) -> f64 {
        let (mut sum, mut weight) = (0.0, 0.0);
        for link in picture.links.iter().filter(|link| link.parent == topic) {
            if let Some(&(x, _)) = self.at.get(&link.child) {
                let share = link.share.unwrap_or(1.0);
                (sum, weight) = (sum + share * x, weight + share);
            }
        }
        if weight > 0.0 { sum / weight } else { self.width / 2.0 }
    }
}

/// The topics by their distance from the tokens in the network, farthest first.
fn levels(picture: &Picture<'_>) -> Vec<Vec<u32>> {
    let level_of = picture.network.graph.levels();
    let mut topics: Vec<u32> = picture.topics.iter().map(|part| part.topic).collect();
    topics.sort_by_key(|&topic| (std::cmp::Reverse(level_of[topic as usize]), topic));
    topics.chunk_by(|&a, &b| level_of[a as usize] == level_of[b as usize]).map(<[u32]>::to_vec).collect()
}

fn write_link(svg: &mut String, picture: &Picture<'_>, layout: &Layout, link: &Link) {
    let (Some(&(x0, top)), Some(&(x1, y1))) = (layout.at.get(&link.parent), layout.at.get(&link.child))
    else {
        return;
    };
    let y0 = top + TOPIC.1;
    let bend = (y1 - y0) / 2.0;
    let path = format!("M{x0:.1} {y0:.1}C{x0:.1} {:.1} {x1:.1} {:.1} {x1:.1} {y1:.1}", y0 + bend, y1 - bend);
    let _ = match (link.share, layout.colour.get(&link.parent)) {
        (Some(share), Some(colour)) => {
            let (parent, child) = (picture.name(link.parent), picture.name(link.child));
            let title = xml(&format!("{parent} explains {:.0} % of {child}", 100.0 * share));
            let stroke = 0.6 + 5.0 * share;
            write!(
                svg,
                r#"<path class="nx-link nx-s{colour}" stroke-width="{stroke:.2}" d="{path}"><title>{title}</title></path>"#
            )
        }
        _ => write!(svg, r#"<path class="nx-might" d="{path}"/>"#),
    };
}

fn write_topic(svg: &mut String, picture: &Picture<'_>, layout: &Layout, place: usize) {
    let part = picture.topics[place];
    let Some(&(x, y)) = layout.at.get(&part.topic) else { return };
    let (class, fill) = match layout.colour.get(&part.topic) {
        Some(colour) => ("nx-on", format!(r#" class="nx-f{colour}""#)),
        None => ("nx-off", String::new()),
    };
    let (title, name) = (xml(&picture.topic_title(part)), xml(&fit(picture.name(part.topic), TOPIC_COLUMNS)));
    let _ = write!(
        svg,
        r#"<g class="{class}"><title>{title}</title><rect{fill} x="{:.1}" y="{y:.1}" width="{}" height="{}" rx="6"/>"#,
        x - TOPIC.0 / 2.0,
        TOPIC.0,
        TOPIC.1
    );
    let _ = write!(
        svg,
        r#"<text x="{x:.1}" y="{:.1}">{name}</text><text x="{x:.1}" y="{:.1}" font-size="10">{}</text></g>"#,
        y + 14.0,
        y + 26.0,
        xml(&probability_text(part.q))
    );
}

fn write_word(svg: &mut String, picture: &Picture<'_>, layout: &Layout, word: &WordView<'_>) {
    let Some(&(x, y)) = layout.at.get(&word.node) else { return };
    let _ = write!(svg, "<g><title>{}</title>", xml(&picture.word_title(word)));
    // The bar is grey, the leak's colour, where no topic that is drawn has a share.
    let left = x - BAR.0 / 2.0;
    let _ = write!(
        svg,
        r#"<rect class="nx-leak" x="{left:.1}" y="{y:.1}" width="{}" height="{}"/>"#,
        BAR.0, BAR.1
    );
    let mut from = y;
    for source in word.cause.by_share() {
        let height = BAR.1 * source.share;
        if let Some(colour) = layout.colour.get(&source.topic).filter(|_| height >= 0.1) {
            let _ = write!(
                svg,
                r#"<rect class="nx-f{colour}" x="{left:.1}" y="{from:.1}" width="{}" height="{height:.1}"/>"#,
                BAR.0
            );
            from += height;
        }
    }
    let weight = if word.is_split() { r#" font-weight="bold""# } else { "" };
    let _ = write!(
        svg,
        r#"<text class="nx-word"{weight} transform="translate({:.1} {:.1}) rotate(60)">{}</text></g>"#,
        x - 2.0,
        y + BAR.1 + 12.0,
        xml(&label(picture, word))
    );
}

fn label(picture: &Picture<'_>, word: &WordView<'_>) -> String {
    fit(picture.name(word.node), WORD_COLUMNS)
}
