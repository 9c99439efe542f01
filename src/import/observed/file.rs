//! A file of what a cabinet shows: CSV, or the first sheet of an Excel workbook.

use std::io::Cursor;

use calamine::{Data, Range, Reader as _, Xlsx};

use super::super::rows::Field;
use crate::domain::{Qty, Text};
use crate::import::{FileFault, Rows};
use crate::store::observed::Address;

/// The columns of a file. In a workbook others may stand beside them.
const COLUMNS: [&str; 3] = ["external_id", "external_warehouse_id", "qty"];
/// The most units that are believed.
const MAX_QTY: Qty = 1_000_000_000;
/// How a ZIP archive begins, which a workbook is.
const ZIP: &[u8] = b"PK\x03\x04";
/// Up to here every whole number has a place among the numbers of a sheet.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What the cabinet shows at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where.
    pub address: Address,
    /// How many. What is empty or no number is a bad row, and never 0.
    pub qty: Qty,
}

/// Reads a file: `external_id,external_warehouse_id,qty`.
///
/// # Errors
/// It has other columns, or is neither CSV nor a workbook.
pub fn read(file: &[u8]) -> Result<Rows<Row>, FileFault> {
    let rows = if file.starts_with(ZIP) {
        let (header, texts) = sheet(file)?;
        Rows::judge(COLUMNS, &header, texts, parse)?
    } else {
        Rows::read(file, COLUMNS, parse)?
    };
    Ok(rows.once("this item in this warehouse", |row| row.address.clone()))
}

fn parse([external_id, external_warehouse_id, qty]: [Field<'_>; 3]) -> Result<Row, String> {
    let external_id = external_id.name(Text::new)?.as_str().to_owned();
    let external_warehouse_id = external_warehouse_id.name(Text::new)?.as_str().to_owned();
    let qty = qty.whole(0..=MAX_QTY)?;
    Ok(Row { address: Address { external_id, external_warehouse_id }, qty })
}

/// The first row of the first sheet, and those below it that are not empty, with their numbers.
type Texts = (Vec<String>, Vec<(usize, Vec<String>)>);

fn sheet(file: &[u8]) -> Result<Texts, FileFault> {
    let unreadable = |error: calamine::XlsxError| FileFault::Workbook(error.to_string());
    let mut workbook: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(file)).map_err(unreadable)?;
    let range: Range<Data> = workbook
        .worksheet_range_at(0)
        .ok_or_else(|| FileFault::Workbook("it has no sheet".to_owned()))?
        .map_err(unreadable)?;
    let first = range.start().map_or(1, |(row, _)| row as usize + 1);
    let mut rows = (first..).zip(range.rows().map(|cells| cells.iter().map(text).collect::<Vec<_>>()));
    let header = rows.next().map(|(_, header)| header).unwrap_or_default();
    let filled = rows.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
    Ok((header, filled.collect()))
}

/// A cell as the text that a person would have typed.
fn text(cell: &Data) -> String {
    match cell {
        Data::Float(number) if number.fract() == 0.0 && number.abs() < EXACT => format!("{number:.0}"),
        Data::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rust_xlsxwriter::Workbook;

    use super::*;

    fn row(external_id: &str, external_warehouse_id: &str, qty: Qty) -> Row {
        let (external_id, external_warehouse_id) = (external_id.to_owned(), external_warehouse_id.to_owned());
        Row { address: Address { external_id, external_warehouse_id }, qty }
    }

    fn bad(rows: &Rows<Row>) -> Vec<(usize, &str)> {
        rows.bad.iter().map(|bad| (bad.line, bad.reason.as_str())).collect()
    }

    #[test]
    fn what_is_empty_or_no_number_is_bad_and_never_0() {
        let file = "external_id,external_warehouse_id,qty\nA,7,\nB,7,invalid\nC,7,-1\nD,7,0\nD,7,1\nE,,1\n";
        let rows = read(file.as_bytes()).unwrap();
        assert_eq!(rows.good, [(5, row("D", "7", 0))]);
        let number = "qty must be a whole number from 0 to 1000000000, not";
        let expected = [
            (2, format!("{number} \"\"")),
            (3, format!("{number} \"invalid\"")),
            (4, format!("{number} \"-1\"")),
            (7, "external_warehouse_id must be 1 to 200 bytes long".to_owned()),
            (6, "this item in this warehouse stands in line 5 already".to_owned()),
        ];
        assert_eq!(bad(&rows), expected.each_ref().map(|(line, reason)| (*line, reason.as_str())));
    }

    #[test]
    fn a_workbook_is_read_whatever_stands_beside_the_columns_and_whether_cells_are_numbers_or_texts() {
        let mut workbook = Workbook::new();
        let sheet = workbook.add_worksheet();
        for (column, name) in (0..).zip(["qty", "title", "external_id", "external_warehouse_id"]) {
            sheet.write_string(0, column, name).unwrap();
        }
        let numbers = sheet.write_number(1, 0, 5.0).unwrap();
        numbers.write_number(1, 2, 313_455_276.0).unwrap().write_number(1, 3, 22_142_605_386_000.0).unwrap();
        let texts = sheet.write_string(2, 0, " 6").unwrap();
        texts.write_string(2, 2, "007").unwrap().write_string(2, 3, "8").unwrap();
        // A row without anything is none; one without a number is bad, and so is half a unit.
        let lacking = sheet.write_string(4, 2, "X").unwrap();
        lacking.write_string(4, 3, "8").unwrap();
        let half = sheet.write_number(5, 0, 1.5).unwrap();
        half.write_string(5, 2, "Y").unwrap().write_string(5, 3, "8").unwrap();
        let rows = read(&workbook.save_to_buffer().unwrap()).unwrap();
        assert_eq!(rows.good, [(2, row("313455276", "22142605386000", 5)), (3, row("007", "8", 6))]);
        let number = "qty must be a whole number from 0 to 1000000000, not";
        let expected = [(5, format!("{number} \"\"")), (6, format!("{number} \"1.5\""))];
        assert_eq!(bad(&rows), expected.each_ref().map(|(line, reason)| (*line, reason.as_str())));
    }

    #[test]
    fn a_workbook_without_the_columns_or_that_is_none_is_not_read() {
        let mut workbook = Workbook::new();
        workbook.add_worksheet().write_string(0, 0, "offer").unwrap();
        let error = read(&workbook.save_to_buffer().unwrap()).unwrap_err().to_string();
        assert_eq!(error, "its header is \"offer\"; it must be external_id,external_warehouse_id,qty");
        assert!(matches!(read(b"PK\x03\x04 and no more"), Err(FileFault::Workbook(_))));
    }
}
