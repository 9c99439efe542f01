//! What happens.

use anyhow::Result;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::fair::{Fair, Stall, is_right};
use super::stage::{BOLD, Expected, Stage, paint};
use super::tables;
use crate::domain::{Channel, OrderKey, OrderRef, Qty};
use crate::import::{BadRows, resources};

/// Plays the story on these servers and marketplaces, on which the program runs with a `hold.min_s` of at most 2. Returns the order that was
/// refused.
pub(super) async fn play(nats: async_nats::Client, fair: Fair, database: &mut PgConnection) -> Result<OrderKey> {
    // A model of its own, so that the story can be played again on the same servers.
    let model = fastrand::u32(1000..10_000).to_string();
    let mut story = Story { stage: Stage::open(nats).await?, fair, sku: format!("GRINDER-{model}"), model };
    story.the_shop_sells_on_marketplaces(database).await?;
    story.the_warehouse_counts().await?;
    story.two_want_the_last_one().await?;
    story.somebody_meddles(database).await?;
    story.a_message_comes_twice().await?;
    story.a_message_makes_no_sense().await?;
    story.the_buyer_changes_their_mind().await?;
    story.a_hold_ends_by_itself().await?;
    story.money_comes_late().await?;
    story.the_warehouse_sends_it_off().await?;
    story.money_comes_too_late().await?;
    story.two_want_the_same_hour(database).await?;
    tables::print(database, &story.model).await?;
    Ok(OrderKey { channel: Channel::new("web")?, order_ref: OrderRef::new(&story.id("bob"))? })
}

struct Story {
    stage: Stage,
    fair: Fair,
    model: String,
    sku: String,
}

impl Story {
    async fn the_shop_sells_on_marketplaces(&mut self, database: &mut PgConnection) -> Result<()> {
        self.stage
            .scene("A coffee grinder is to be sold in the shop, on Ozon and on Wildberries, which call it otherwise.");
        self.fair.map(database, &self.sku, &self.model).await
    }

    async fn the_warehouse_counts(&mut self) -> Result<()> {
        self.stage.scene("The warehouse counts: one coffee grinder is left.");
        let lines = json!([{ "sku": self.sku, "on_hand": 1 }]);
        self.stage.say("inventory.counted.main", json!({ "event_id": self.id("count"), "lines": lines })).await?;
        self.stage.hear([self.stock(0)]).await?;
        self.everybody_shows(1).await
    }

    async fn two_want_the_last_one(&mut self) -> Result<()> {
        self.stage.scene(
            "Ann and Bob want it at the same moment. One of them gets it, the other is told at once, and nobody else is shown it.",
        );
        self.stage.say("order.created.web", self.order("ann-orders", "ann", 900)).await?;
        self.stage.say("order.created.web", self.order("bob-orders", "bob", 900)).await?;
        let held =
            Expected::new("reservation.held.web", [("order_ref", self.id("ann").into()), ("duplicate", false.into())]);
        let rejected = [("order_ref", self.id("bob").into()), ("reason", "insufficient_stock".into())];
        self.stage.hear([held, Expected::new("reservation.rejected.web", rejected), self.stock(1)]).await?;
        self.everybody_shows(0).await
    }

    /// Of a channel that is paused, what is found stands long enough to be asked about.
    async fn somebody_meddles(&mut self, database: &mut PgConnection) -> Result<()> {
        const STALL: Stall = Stall::Wildberries;
        self.stage
            .scene("Somebody sets 3 by hand on Wildberries, which is paused, though nothing is free. It is found.");
        let Self { fair, sku, model, .. } = self;
        fair.known(database, STALL, sku, is_right).await?;
        fair.pause(database, STALL).await?;
        fair.set(STALL, model, 3).await?;
        fair.compare(database, STALL).await?;
        let found = fair.known(database, STALL, sku, |story| story.shown() == Some(3)).await?;
        println!("\n   {}", paint(BOLD, format!("`lastunit explain --point {sku} wildberries main` says:")));
        for line in found.text().lines() {
            println!("{}", format!("   {line}").trim_end());
        }
        self.stage.scene("Wildberries goes on, and is told once more what it should show.");
        let Self { fair, sku, model, .. } = self;
        fair.resume(database, STALL).await?;
        fair.shows(STALL, model, 0).await?;
        fair.known(database, STALL, sku, is_right).await?;
        Ok(())
    }

    async fn a_message_comes_twice(&mut self) -> Result<()> {
        self.stage.scene("The checkout was not sure that Ann's order arrived and sends it again. It is answered, and nothing changes.");
        self.stage.say("order.created.web", self.order("ann-orders-again", "ann", 900)).await?;
        let repeat = [("order_ref", self.id("ann").into()), ("duplicate", true.into())];
        self.stage.hear([Expected::new("reservation.held.web", repeat)]).await
    }

    async fn a_message_makes_no_sense(&mut self) -> Result<()> {
        self.stage
            .scene("Zoe orders no grinders at all. The message is put aside with the reason; the others flow on.");
        let lines = json!([{ "sku": self.sku, "qty": 0 }]);
        let body = json!({ "event_id": self.id("zoe-orders"), "order_ref": self.id("zoe"), "lines": lines });
        self.stage.say("order.created.web", body).await?;
        let reason = [("Lastunit-Reason", "invalid_field".into())];
        self.stage.hear([Expected::new("dead.order.created.web", reason)]).await
    }

    async fn the_buyer_changes_their_mind(&mut self) -> Result<()> {
        self.stage.scene("Ann changes her mind. The grinder can be sold again.");
        let (event_id, order_ref) = (self.id("ann-cancels"), self.id("ann"));
        let body = json!({ "event_id": event_id, "order_ref": order_ref, "reason": "found another one" });
        self.stage.say("order.cancelled.web", body).await?;
        let released = [("order_ref", self.id("ann").into()), ("reason", "cancelled".into())];
        self.stage.hear([Expected::new("reservation.released.web", released), self.stock(0)]).await
    }

    async fn a_hold_ends_by_itself(&mut self) -> Result<()> {
        self.stage
            .scene("Eve takes it, for two seconds, and does not pay. Nobody sends anything: her hold ends by itself.");
        self.stage.say("order.created.web", self.order("eve-orders", "eve", 2)).await?;
        let order = || [("order_ref", self.id("eve").into())];
        let (held, expired) =
            (Expected::new("reservation.held.web", order()), Expected::new("reservation.expired.web", order()));
        self.stage.hear([held, self.stock(1)]).await?;
        self.stage.hear([expired, self.stock(0)]).await
    }

    async fn money_comes_late(&mut self) -> Result<()> {
        self.stage
            .scene("Eve has paid after all. Nobody took the grinder meanwhile: she has it again, and it is hers.");
        self.stage.say("payment.succeeded.stripe", self.money("eve")).await?;
        let confirmed = [("order_ref", self.id("eve").into()), ("reason", "had_again".into())];
        self.stage.hear([Expected::new("reservation.confirmed.web", confirmed), self.stock(1)]).await
    }

    async fn the_warehouse_sends_it_off(&mut self) -> Result<()> {
        self.stage.scene("The warehouse sends Eve's parcel off, and gets another grinder in.");
        let (event_id, order_ref) = (self.id("eve-is-sent"), self.id("eve"));
        let lines = json!([{ "sku": self.sku, "qty": 1 }]);
        let parcel = json!({ "event_id": event_id, "shipment_ref": self.id("parcel"), "channel": "web",
                             "order_ref": order_ref, "lines": lines });
        self.stage.say("shipment.dispatched.main", parcel).await?;
        let shipped = Expected::new("reservation.shipped.web", [("order_ref", self.id("eve").into())]);
        self.stage.hear([shipped, self.figures(0, 0)]).await?;
        let received = json!({ "event_id": self.id("one-comes-in"), "lines": lines });
        self.stage.say("inventory.received.main", received).await?;
        self.stage.hear([self.stock(0)]).await
    }

    async fn money_comes_too_late(&mut self) -> Result<()> {
        self.stage.scene("Dan takes it for two seconds too. His hold ends, Fay takes it, and then Dan's money comes: it has to go back.");
        self.stage.say("order.created.web", self.order("dan-orders", "dan", 2)).await?;
        let dan = || [("order_ref", self.id("dan").into())];
        let (held, expired) =
            (Expected::new("reservation.held.web", dan()), Expected::new("reservation.expired.web", dan()));
        self.stage.hear([held, self.stock(1)]).await?;
        self.stage.hear([expired, self.stock(0)]).await?;
        self.stage.say("order.created.web", self.order("fay-orders", "fay", 900)).await?;
        let fay = Expected::new("reservation.held.web", [("order_ref", self.id("fay").into())]);
        self.stage.hear([fay, self.stock(1)]).await?;
        self.stage.say("payment.succeeded.stripe", self.money("dan")).await?;
        let refund = [("order_ref", self.id("dan").into()), ("reason", "expired_and_sold_out".into())];
        self.stage.hear([Expected::new("refund.required.stripe", refund)]).await
    }

    async fn two_want_the_same_hour(&mut self, database: &mut PgConnection) -> Result<()> {
        self.stage.scene(
            "Gil orders a grinder and an hour at the workbench, both or neither. Hal wants half of that hour: it is taken.",
        );
        let bench = self.id("workbench");
        let file = format!("resource,name\n{bench},The workbench\n");
        resources::take(database, &resources::read(file.as_bytes())?, BadRows::Refuse).await?;
        let lines = json!([{ "sku": self.sku, "qty": 1 }]);
        let received = json!({ "event_id": self.id("another-comes-in"), "lines": lines });
        self.stage.say("inventory.received.main", received).await?;
        self.stage.hear([self.figures(2, 1)]).await?;
        let slot = |from: &str, to: &str| json!({ "resource": bench, "from": format!("2027-01-09T{from}:00Z"), "to": format!("2027-01-09T{to}:00Z") });
        let order = |who: &str, lines: Value| json!({ "event_id": self.id(&format!("{who}-orders")), "order_ref": self.id(who), "hold_for_s": 900, "lines": lines });
        let both = json!([{ "sku": self.sku, "qty": 1 }, slot("10:00", "11:00")]);
        self.stage.say("order.created.web", order("gil", both)).await?;
        self.stage.say("order.created.web", order("hal", json!([slot("10:30", "11:30")]))).await?;
        let held = Expected::new("reservation.held.web", [("order_ref", self.id("gil").into())]);
        let taken = [("order_ref", self.id("hal").into()), ("reason", "slot_taken".into())];
        self.stage.hear([held, self.figures(2, 2), Expected::new("reservation.rejected.web", taken)]).await
    }

    async fn everybody_shows(&self, qty: Qty) -> Result<()> {
        for stall in Stall::ALL {
            self.fair.shows(stall, &self.model, qty).await?;
        }
        Ok(())
    }

    /// One grinder on the shelf, of which so many are promised.
    fn stock(&self, reserved: i64) -> Expected {
        self.figures(1, reserved)
    }

    /// So many grinders on the shelf, of which so many are promised.
    fn figures(&self, on_hand: i64, reserved: i64) -> Expected {
        let available = on_hand - reserved;
        let figures = [("on_hand", on_hand.into()), ("reserved", reserved.into()), ("available", available.into())];
        Expected::new(format!("stock.changed.main.{}", self.sku), figures)
    }

    /// An order for one grinder.
    fn order(&self, event: &str, who: &str, hold_for_s: u32) -> Value {
        let lines = json!([{ "sku": self.sku, "qty": 1 }]);
        json!({ "event_id": self.id(event), "order_ref": self.id(who), "hold_for_s": hold_for_s, "lines": lines })
    }

    /// What somebody has paid for their order.
    fn money(&self, who: &str) -> Value {
        let (event_id, payment_id) = (self.id(&format!("{who}-pays")), self.id(&format!("money-of-{who}")));
        json!({ "event_id": event_id, "payment_id": payment_id, "channel": "web", "order_ref": self.id(who),
                "amount": { "amount": 15999, "currency": "RUB" } })
    }

    fn id(&self, of: &str) -> String {
        format!("{of}-{}", self.model)
    }
}
