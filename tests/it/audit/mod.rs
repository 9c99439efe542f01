//! `lastunit audit`: it finds what is broken and says where, finds nothing where nothing is, and takes no more memory for more.

mod broken;
mod clean;
mod memory;
mod money;
mod parcels;
mod reading;
mod repair;
mod schedule;
mod slots;

use serde_json::Value;

use crate::support::{Ended, Launch};

/// The findings that the command prints, without their ids, which are each another.
async fn findings(launch: &Launch) -> Vec<Value> {
    let ended = launch.run(&["audit", "--json"]).await;
    let mut found = rows(&ended);
    assert_eq!(ended.code, Some(i32::from(!found.is_empty())), "{}", ended.stderr);
    for row in &mut found {
        assert!(row.as_object_mut().unwrap().remove("id").unwrap().as_str().unwrap().starts_with("invariant "));
    }
    found
}

fn rows(ended: &Ended) -> Vec<Value> {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}
