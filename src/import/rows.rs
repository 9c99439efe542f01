//! A CSV file as rows: each what it says it is, or bad with its line and the reason.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::RangeInclusive;

use csv::ByteRecord;

use super::BadRow;

/// The largest file that is read, in bytes: about a million rows, which all stand in memory at once.
pub const MAX_BYTES: u64 = 32 << 20;

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It has no header.
    #[error("it is empty; its first line must be {0}")]
    Empty(String),
    /// Its header is another one.
    #[error("its header is {found:?}; it must be {wanted}")]
    Header {
        /// The first line.
        found: String,
        /// What it must be.
        wanted: String,
    },
    /// It looks like a workbook, and cannot be read as one.
    #[error("it is no workbook: {0}")]
    Workbook(String),
    /// Its quotes or its bytes cannot be told apart.
    #[error("it is no CSV: {0}")]
    Csv(#[from] csv::Error),
}

/// A file's rows, in its order.
#[derive(Debug)]
pub struct Rows<T> {
    /// Those that can be taken as far as they themselves can tell, with their lines.
    pub good: Vec<(usize, T)>,
    /// The others.
    pub bad: Vec<BadRow>,
}

impl<T> Rows<T> {
    /// Reads a file with these columns, in any order. `parse` reads one row.
    ///
    /// # Errors
    /// It has other columns, or is no CSV.
    pub(super) fn read<const N: usize>(
        file: &[u8],
        columns: [&'static str; N],
        parse: impl Fn([Field<'_>; N]) -> Result<T, String>,
    ) -> Result<Self, FileFault> {
        Self::read_marking(file, columns, parse, |_, _| ())
    }

    /// Reads a file as [`read`](Self::read) does. `mark` gets the line of each bad row and its fields as they stand there, empty where there is
    /// none: a bad row may still tell with which others it belongs.
    ///
    /// # Errors
    /// It has other columns, or is no CSV.
    pub(super) fn read_marking<const N: usize>(
        file: &[u8],
        columns: [&'static str; N],
        parse: impl Fn([Field<'_>; N]) -> Result<T, String>,
        mut mark: impl FnMut(usize, [&[u8]; N]),
    ) -> Result<Self, FileFault> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
        let mut lines = Lines::of(file);
        let mut record = ByteRecord::new();
        if !reader.read_byte_record(&mut record)? {
            return Err(FileFault::Empty(columns.join(",")));
        }
        let places = places(&record, columns)?;
        let mut rows = Self { good: Vec::new(), bad: Vec::new() };
        while reader.read_byte_record(&mut record)? {
            let line = lines.at(record.position().map_or(0, csv::Position::byte));
            match fields(&record, columns, places).and_then(&parse) {
                Ok(row) => rows.good.push((line, row)),
                Err(reason) => {
                    mark(line, places.map(|place| record.get(place).unwrap_or_default()));
                    rows.bad.push(BadRow { line, reason });
                }
            }
        }
        Ok(rows)
    }

    /// Judges rows of texts with their lines, out of a file of another form. The header must have these columns, and may have others.
    ///
    /// # Errors
    /// A column is not there.
    pub(super) fn judge<const N: usize>(
        columns: [&'static str; N],
        header: &[String],
        texts: impl IntoIterator<Item = (usize, Vec<String>)>,
        parse: impl Fn([Field<'_>; N]) -> Result<T, String>,
    ) -> Result<Self, FileFault> {
        let found = columns.map(|column| header.iter().position(|name| name == column));
        if found.iter().any(Option::is_none) {
            return Err(FileFault::Header { found: header.join(","), wanted: columns.join(",") });
        }
        let places = found.map(Option::unwrap_or_default);
        let mut rows = Self { good: Vec::new(), bad: Vec::new() };
        for (line, texts) in texts {
            let mut fields = columns.map(|column| Field { column, text: "" });
            for (field, place) in fields.iter_mut().zip(places) {
                field.text = texts.get(place).map_or("", String::as_str);
            }
            match parse(fields) {
                Ok(row) => rows.good.push((line, row)),
                Err(reason) => rows.bad.push(BadRow { line, reason }),
            }
        }
        Ok(rows)
    }

    /// Makes every row bad whose key stands in an earlier one.
    pub(super) fn once<K: Hash + Eq>(mut self, what: &str, key: impl Fn(&T) -> K) -> Self {
        let mut first: HashMap<K, usize> = HashMap::with_capacity(self.good.len());
        let bad = &mut self.bad;
        self.good.retain(|(line, row)| {
            let earlier = *first.entry(key(row)).or_insert(*line);
            if earlier != *line {
                bad.push(BadRow { line: *line, reason: format!("{what} stands in line {earlier} already") });
            }
            earlier == *line
        });
        self
    }
}

/// One field of a row, by the name of its column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    column: &'static str,
    text: &'a str,
}

impl<'a> Field<'a> {
    /// The text; none where it is empty.
    pub fn given(self) -> Option<Self> {
        (!self.text.is_empty()).then_some(self)
    }

    /// The text as one of the domain's names.
    pub fn name<T, E: std::fmt::Display>(self, read: impl FnOnce(&'a str) -> Result<T, E>) -> Result<T, String> {
        read(self.text).map_err(|fault| format!("{} {fault}", self.column))
    }

    /// The text as one of few, or as something with a form of its own. `wanted` is what it must be.
    pub fn read<T>(self, wanted: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, String> {
        let Self { column, text } = self;
        read(text).ok_or_else(|| format!("{column} must be {wanted}, not {text:?}"))
    }

    /// The text as a whole number.
    pub fn whole<N>(self, range: RangeInclusive<N>) -> Result<N, String>
    where
        N: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let plain = !self.text.starts_with('+');
        self.text.parse().ok().filter(|number| plain && range.contains(number)).ok_or_else(|| {
            let Self { column, text } = self;
            format!("{column} must be a whole number from {} to {}, not {text:?}", range.start(), range.end())
        })
    }
}

/// Where each column stands.
fn places<const N: usize>(header: &ByteRecord, columns: [&'static str; N]) -> Result<[usize; N], FileFault> {
    let find = |column: &str| header.iter().position(|field| field == column.as_bytes());
    let found = columns.map(find);
    if header.len() == N && found.iter().all(Option::is_some) {
        return Ok(found.map(Option::unwrap_or_default));
    }
    let found: Vec<_> = header.iter().map(String::from_utf8_lossy).collect();
    Err(FileFault::Header { found: found.join(","), wanted: columns.join(",") })
}

fn fields<'a, const N: usize>(
    record: &'a ByteRecord,
    columns: [&'static str; N],
    places: [usize; N],
) -> Result<[Field<'a>; N], String> {
    if record.len() != N {
        return Err(format!("it has {} fields; the header has {N}", record.len()));
    }
    let mut fields = columns.map(|column| Field { column, text: "" });
    for (field, place) in fields.iter_mut().zip(places) {
        let bytes = record.get(place).unwrap_or_default();
        field.text = std::str::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", field.column))?;
    }
    Ok(fields)
}

/// Lines by position. The reader's own count knows nothing of empty lines that it skips, nor whether a line ends with one byte or two.
struct Lines<'a> {
    file: &'a [u8],
    seen: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(file: &'a [u8]) -> Self {
        Self { file, seen: 0, line: 1 }
    }

    /// The line of the record that begins at this byte or after the line ends that stand there. Positions only grow.
    fn at(&mut self, byte: u64) -> usize {
        let from = usize::try_from(byte).unwrap_or(usize::MAX).min(self.file.len());
        let ends = self.file[from..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let begins = from + ends;
        let is_end = |place: &usize| match self.file[*place] {
            b'\n' => true,
            b'\r' => self.file.get(place + 1) != Some(&b'\n'),
            _ => false,
        };
        self.line += (self.seen..begins).filter(is_end).count();
        self.seen = self.seen.max(begins);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &[u8]) -> Result<Rows<(String, i64)>, FileFault> {
        Rows::read(file, ["name", "units"], |[name, units]| Ok((name.text.to_owned(), units.whole(0..=9)?)))
    }

    fn good(file: &str) -> Vec<(usize, String, i64)> {
        let rows = read(file.as_bytes()).unwrap();
        assert_eq!(rows.bad, []);
        rows.good.into_iter().map(|(line, (name, units))| (line, name, units)).collect()
    }

    fn bad(file: &[u8]) -> Vec<(usize, String)> {
        read(file).unwrap().bad.into_iter().map(|bad| (bad.line, bad.reason)).collect()
    }

    fn row(line: usize, name: &str, units: i64) -> (usize, String, i64) {
        (line, name.to_owned(), units)
    }

    #[test]
    fn files_of_every_origin_are_read_alike() {
        let expected = [row(2, "a", 1), row(3, "b", 2)];
        for file in [
            "name,units\na,1\nb,2\n",
            "name,units\r\na,1\r\nb,2\r\n",
            "name,units\ra,1\rb,2",
            "\u{feff}name,units\na,1\nb,2",
            "units,name\n1,a\n2,b\n",
            "\"name\",\"units\"\n\"a\",\"1\"\nb,2\n",
        ] {
            assert_eq!(good(file), expected, "{file:?}");
        }
        assert_eq!(good("name,units\n"), []);
    }

    #[test]
    fn quotes_keep_commas_quotes_and_line_ends_and_lines_are_counted_through_them() {
        let file = "name,units\n\"a,\"\"b\"\"\",1\n\n\n\"c\nd\",2\r\n\r\ne,3\n";
        assert_eq!(good(file), [row(2, "a,\"b\"", 1), row(5, "c\nd", 2), row(8, "e", 3)]);
    }

    #[test]
    fn a_bad_row_has_its_line_and_its_reason() {
        assert_eq!(
            bad(b"name,units\na\nb,1,2\nc,ten\nd,10\ne,+1\nf, 1\ng,\n\xff,1\nh,1\n"),
            [
                (2, "it has 1 fields; the header has 2".to_owned()),
                (3, "it has 3 fields; the header has 2".to_owned()),
                (4, "units must be a whole number from 0 to 9, not \"ten\"".to_owned()),
                (5, "units must be a whole number from 0 to 9, not \"10\"".to_owned()),
                (6, "units must be a whole number from 0 to 9, not \"+1\"".to_owned()),
                (7, "units must be a whole number from 0 to 9, not \" 1\"".to_owned()),
                (8, "units must be a whole number from 0 to 9, not \"\"".to_owned()),
                (9, "name is not UTF-8".to_owned()),
            ]
        );
    }

    #[test]
    fn what_stands_twice_is_bad_the_second_time() {
        let rows = read(b"name,units\na,1\nb,1\na,2\na,1\n").unwrap().once("this name", |(name, _)| name.clone());
        assert_eq!(rows.good.len(), 2);
        let bad: Vec<_> = rows.bad.iter().map(|bad| (bad.line, bad.reason.as_str())).collect();
        assert_eq!(bad, [(4, "this name stands in line 2 already"), (5, "this name stands in line 2 already")]);
    }

    #[test]
    fn a_file_with_other_columns_is_not_read() {
        for (file, error) in [
            ("", "it is empty; its first line must be name,units"),
            ("name\na\n", "its header is \"name\"; it must be name,units"),
            ("name,units,more\n", "its header is \"name,units,more\"; it must be name,units"),
            ("name,name\n", "its header is \"name,name\"; it must be name,units"),
            ("name;units\na;1\n", "its header is \"name;units\"; it must be name,units"),
            ("a,1\n", "its header is \"a,1\"; it must be name,units"),
        ] {
            assert_eq!(read(file.as_bytes()).unwrap_err().to_string(), error);
        }
    }
}
