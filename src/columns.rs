//! Text for a terminal: names on one line, and no more columns than there are.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// As many columns as it takes.
pub const UNLIMITED: usize = usize::MAX;

/// A name on one line, without what would move the cursor or turn the direction of what follows.
pub fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text, or as much of it as fits with an ellipsis behind.
pub fn fit(text: &str, columns: usize) -> String {
    // Marks take no columns: a name of thousands of them is cut by its length.
    let n_chars = columns.saturating_mul(4);
    if width(text) <= columns && text.chars().nth(n_chars).is_none() {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    text.chars().take(n_chars).take_while(fits).collect::<String>() + "…"
}

/// Every line of a text in so many columns.
pub fn fit_lines(text: &str, columns: usize) -> String {
    text.lines().map(|line| fit(line, columns) + "\n").collect()
}

/// As many items as fit, with commas between them and an ellipsis if some are left out. A first item that does not fit is cut.
pub fn fit_list<T: AsRef<str>>(items: &[T], columns: usize) -> String {
    let mut list = String::new();
    for (at, item) in items.iter().enumerate() {
        let (item, comma) = (item.as_ref(), if at > 0 { ", " } else { "" });
        let reserve = if at + 1 < items.len() { width(", …") } else { 0 };
        let used = width(&list) + width(comma);
        if used.saturating_add(width(item)).saturating_add(reserve) > columns {
            if at > 0 {
                list.push_str(", …");
            } else {
                list = fit(item, columns.saturating_sub(reserve));
                list.push_str(if reserve > 0 { ", …" } else { "" });
            }
            break;
        }
        list.push_str(comma);
        list.push_str(item);
    }
    list
}

/// All items with commas between them, in as many lines as it takes; an item that does not fit a line is cut.
pub fn wrap_list<T: AsRef<str>>(items: &[T], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let comma = if at + 1 < items.len() { "," } else { "" };
        let item = fit(item.as_ref(), columns.saturating_sub(width(comma))) + comma;
        match lines.last_mut().filter(|line| width(line) + 1 + width(&item) <= columns) {
            Some(line) => line.extend([" ", &item]),
            None => lines.push(item),
        }
    }
    lines
}

/// A whole number with commas: 1,234,567.
pub fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let sign = if number < 0.0 && digits != "0" { "-" } else { "" };
    let mut text = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digit.is_ascii_digit() {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wider_than_its_columns() {
        let odd = "e\u{301}".repeat(3000);
        for text in ["", "a", "topic", "日本語の話題", "שלום עולם", "🦀🦀🦀", odd.as_str()]
        {
            for columns in 2..20 {
                let cut = fit(text, columns);
                assert!(width(&cut) <= columns, "{cut} in {columns}");
                assert!(cut.chars().count() <= 4 * columns + 1);
                let list = fit_list(&[text, text, text], columns.max(5));
                assert!(width(&list) <= columns.max(5), "{list} in {columns}");
            }
        }
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit_list(&["one", "two", "three"], 11), "one, two, …");
        assert_eq!(fit_list(&["one", "two", "three"], 15), "one, two, three");
        assert_eq!(fit_list(&["one", "two"], UNLIMITED), "one, two");
        assert_eq!(wrap_list(&["one", "two", "three"], 9), ["one, two,", "three"]);
        assert_eq!(wrap_list(&["one", "sixteen"], 6), ["one,", "sixte…"]);
        assert!(wrap_list::<&str>(&[], 6).is_empty());
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(plain("a\nb\u{1b}[2J\u{202e}c"), "a\\nb\\u{1b}[2J\\u{202e}c");
        assert_eq!(plain("čaj שלום"), "čaj שלום");
    }
}
