//! What has slots: fitting rooms, workshop places, people to see.
//!
//! A later file may give a resource another name; resources it does not name stay.

use sqlx::PgConnection;

use super::rows::Field;
use super::{BadRows, FileFault, Report, Rows};
use crate::domain::{Resource, Text};
use crate::store::StoreError;
use crate::store::resources::{self, ResourceRow};

/// How many rows are written at once.
const CHUNK: usize = 2_000;
/// The columns of a file.
pub const COLUMNS: [&str; 2] = ["resource", "name"];

/// Reads a file: `resource,name`. The name may be empty. The rows come sorted by resource, the order in which they are locked everywhere.
///
/// # Errors
/// It has other columns, or is no CSV.
pub fn read(file: &[u8]) -> Result<Rows<ResourceRow>, FileFault> {
    let parse = |[resource, name]: [Field<'_>; 2]| {
        let name = name.given().map(|field| field.name(Text::new)).transpose()?;
        Ok(ResourceRow { resource: resource.name(Resource::new)?, name })
    };
    let rows = Rows::read(file, COLUMNS, parse)?;
    let mut rows = rows.once("this resource", |row| row.resource.clone());
    rows.good.sort_by(|(_, left), (_, right)| left.resource.cmp(&right.resource));
    Ok(rows)
}

/// Takes the rows that are good in themselves: nothing in the tables can speak against one.
///
/// # Errors
/// The database's own.
pub async fn take(
    connection: &mut PgConnection,
    rows: &Rows<ResourceRow>,
    bad_rows: BadRows,
) -> Result<Report, StoreError> {
    let mut report = Report { bad: rows.bad.clone(), ..Report::default() };
    if !report.allows(bad_rows) {
        return Ok(report);
    }
    for chunk in rows.good.chunks(CHUNK) {
        let chunk: Vec<&ResourceRow> = chunk.iter().map(|(_, row)| row).collect();
        let taken = resources::put_many(connection, &chunk).await?;
        report.taken += taken;
        report.unchanged += chunk.len() - taken;
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_empty_and_a_resource_stands_once() {
        let rows = read("resource,name\nroom-2,Second room\nroom-1,\nroom-2,Again\n,x\n".as_bytes()).unwrap();
        let good: Vec<_> = rows.good.iter().map(|(line, row)| (*line, row.resource.as_str())).collect();
        assert_eq!(good, [(3, "room-1"), (2, "room-2")]);
        assert_eq!(rows.good[0].1.name, None);
        assert_eq!(rows.good[1].1.name.as_ref().map(Text::as_str), Some("Second room"));
        let bad: Vec<_> = rows.bad.iter().map(|bad| (bad.line, bad.reason.as_str())).collect();
        assert_eq!(bad, [(5, "resource must be 1 to 200 bytes long"), (4, "this resource stands in line 2 already")]);
    }
}
