//! Names in files that have a syntax of their own. A name can hold anything.

/// Text or a quoted attribute of XML, HTML and SVG. Characters that XML does not allow at all become U+FFFD.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // As they are, readers may turn them into spaces.
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", c as u32)),
            _ if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A quoted string of Graphviz's DOT, in which a backslash begins an escape of its own.
pub(crate) fn dot(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            _ if c.is_control() => quoted.push('\u{fffd}'),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// How a simple page looks, on light and dark screens.
const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#222;background:#fff}\
table{border-collapse:collapse}td,th{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid #ddd;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.quiet{color:#666}section{margin:2.5rem 0;overflow-x:auto}\
svg{vertical-align:middle}.back{fill:#e8e8e8}.bar{fill:#2f6fb3}.range{stroke:#222;stroke-width:1.5}\
polyline{fill:none;stroke:#2f6fb3}.thick{stroke-width:2.5}.thin{stroke-width:1}\
@media(prefers-color-scheme:dark){body{color:#e4e4e4;background:#16181c}td,th{border-color:#444}.quiet{color:#999}\
.back{fill:#333}.bar{fill:#5b9bdc}.range{stroke:#e4e4e4}polyline{stroke:#5b9bdc}}";

/// How every simple page ends.
pub(crate) const PAGE_END: &str = "</body></html>\n";

/// The begin of a self-contained page without scripts; `about` stands below its title.
pub(crate) fn page_begin(title: &str, about: &str) -> String {
    let title = xml(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body><h1><bdi>{title}</bdi></h1>\n<p class=\"quiet\">{}</p>\n",
        xml(about)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_stay_text() {
        let name = "<script>\"a\" & 'b'\n\u{0}\u{1b}[2J\u{85}\u{ffff}";
        assert_eq!(
            xml(name),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&#10;\u{fffd}\u{fffd}[2J\u{fffd}\u{fffd}"
        );
        assert_eq!(dot("a\\\"b\"\n\u{7}"), "\"a\\\\\\\"b\\\"\\n\u{fffd}\"");
    }
}
