//! Tables as text, as all commands print them: no lines, and all but the first columns to the right.

use comfy_table::{CellAlignment, Table, presets};

/// A table without trailing blanks. So many columns at the left are names; the others are figures.
pub(crate) fn text_table<R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = String>,
    rows: impl IntoIterator<Item = R>,
    names: usize,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    table.column_iter_mut().skip(names).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.trim_fmt()
}

/// What a cell says where there is no figure.
pub(crate) fn or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "-".to_owned())
}
