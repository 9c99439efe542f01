//! Maps that change: the old address gets its zero first, and what was confirmed there is forgotten.

use lastunit::config::ChannelKind;

use super::{CHANNELS, Fair, Terms, address};

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_is_called_otherwise_is_taken_from_its_old_place() {
    let fair = Fair::open(Terms::default()).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let program = fair.launch.ready(&["run"]).await;
    fair.shop.count("A", "main", 5).await;
    fair.shows(&CHANNELS, 10, 1, 5).await;
    fair.quiet().await;

    for (_, kind) in CHANNELS {
        fair.simulator.add_item(kind, "20", "A");
    }
    let file = fair.ground.dir().join("maps.csv");
    std::fs::write(&file, "sku,channel,external_id\nA,ozon,20\nA,wb,20\nA,site,20\n").unwrap();
    let ended = fair.launch.run(&["import", "mappings", file.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    fair.shows(&CHANNELS, 20, 1, 5).await;
    fair.shows(&CHANNELS, 10, 1, 0).await;
    fair.quiet().await;
    for (_, kind) in CHANNELS {
        assert_eq!(fair.simulator.told(&address(kind, 1, 10)), [5, 0], "{kind:?}");
        assert_eq!(fair.simulator.told(&address(kind, 1, 20)), [5], "{kind:?}");
    }

    // A warehouse that a channel no longer sells from shows nothing there, and what others sell stays.
    let file = fair.ground.dir().join("warehouses.csv");
    std::fs::write(&file, "warehouse,channel,external_warehouse_id,priority,safety_stock\nmain,ozon,,,\n").unwrap();
    let ended = fair.launch.run(&["import", "warehouses", file.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    fair.shows(&CHANNELS[..1], 20, 1, 0).await;
    fair.shows(&CHANNELS[1..], 20, 1, 5).await;
    drop(program);
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_safety_stock_is_kept_back_and_another_one_tells_the_rows_again() {
    let fair = Fair::open(Terms::default()).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let mut program = fair.launch.ready(&["run"]).await;
    fair.shop.count("A", "main", 5).await;
    fair.shows(&CHANNELS, 10, 1, 5).await;
    fair.quiet().await;
    program.terminate().await;

    let careful = fair.launch.clone().env("LASTUNIT_CHANNELS__WB__SAFETY_STOCK", "2");
    let _program = careful.ready(&["run"]).await;
    fair.shows(&CHANNELS[1..2], 10, 1, 3).await;
    fair.quiet().await;
    // The map's own number wins, also a 0, and they are never added.
    sqlx::query("UPDATE channel_warehouse_map SET safety_stock = 0 WHERE channel = 'wb'")
        .execute(&fair.shop.db)
        .await
        .unwrap();
    fair.shop.count("A", "main", 4).await;
    fair.shows(&CHANNELS, 10, 1, 4).await;
    fair.quiet().await;
    let qty = fair.simulator.told(&address(ChannelKind::Wildberries, 1, 10));
    assert_eq!(qty, [5, 3, 4]);
    fair.audit().await;
}
