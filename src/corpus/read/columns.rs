//! Which columns of a table hold the text, the id and the label.

use super::lines::shown;
use super::{Column, Columns};

/// Where the chosen columns are, from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) text: usize,
    pub(super) id: Option<usize>,
    pub(super) label: Option<usize>,
}

impl Chosen {
    /// How many cells a row must have.
    pub(super) fn n_needed(&self) -> usize {
        1 + self.text.max(self.id.unwrap_or(0)).max(self.label.unwrap_or(0))
    }
}

impl Columns {
    /// Some column is chosen by name: there must be names.
    pub(super) fn any_by_name(&self) -> bool {
        [&self.text, &self.id, &self.label].into_iter().any(|column| matches!(column, Some(Column::Name(_))))
    }

    /// The columns in a table: those that are chosen, else those called `id` and `label`, and for the text the first of
    /// `text_names` that there is, or the only column. Without `text_names` the table has no names, and `names` is its
    /// first row.
    pub(super) fn choose(&self, names: &[String], text_names: &[&str]) -> Result<Chosen, String> {
        let called = |name: &str| if text_names.is_empty() { Ok(None) } else { unique(name, names) };
        let text = match &self.text {
            Some(column) => find(column, names)?,
            None => match text_names.iter().find(|&&name| names.iter().any(|other| other == name)) {
                Some(name) => find(&Column::Name((*name).into()), names)?,
                None if names.len() == 1 => 0,
                None => {
                    let columns = listed(names);
                    return Err(format!(
                        "cannot tell which column holds the text; give `text_column`, one of {columns}"
                    ));
                }
            },
        };
        let id = self.id.as_ref().map_or_else(|| called("id"), |column| find(column, names).map(Some))?;
        let label =
            self.label.as_ref().map_or_else(|| called("label"), |column| find(column, names).map(Some))?;
        Ok(Chosen { text, id, label })
    }
}

/// Where a chosen column is.
pub(super) fn find(column: &Column, names: &[String]) -> Result<usize, String> {
    match column {
        Column::Number(number) if (1..=names.len()).contains(number) => Ok(number - 1),
        Column::Number(number) => {
            Err(format!("there is no column {number}; the columns are {}", listed(names)))
        }
        Column::Name(name) => unique(name, names)?.ok_or_else(|| {
            format!("there is no column '{}'; the columns are {}", shown(name.as_bytes()), listed(names))
        }),
    }
}

/// The column of this name, if there is one, and then just one.
pub(super) fn unique(name: &str, names: &[String]) -> Result<Option<usize>, String> {
    let mut places = names.iter().enumerate().filter(|(_, other)| *other == name).map(|(at, _)| at);
    match (places.next(), places.next()) {
        (Some(first), Some(second)) => Err(format!(
            "columns {} and {} are both called '{}'; choose by number",
            first + 1,
            second + 1,
            shown(name.as_bytes())
        )),
        (place, _) => Ok(place),
    }
}

/// Names as they stand in a message: not more than fit a few lines.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let mut list: Vec<String> =
        names.iter().take(MOST).map(|name| format!("'{}'", shown(name.as_bytes()))).collect();
    if names.len() > MOST {
        list.push(format!("... ({} in all)", names.len()));
    }
    list.join(", ")
}
