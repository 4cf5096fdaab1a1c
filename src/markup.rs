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
