//! The payments of a batch: what is known of each, and what must be written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::orders::Ask;
use crate::domain::decision::Decision;
use crate::domain::order::OrderKey;
use crate::domain::payment::{
    NewReport, Payment, PaymentChange, PaymentKey, PaymentReport, PaymentState, RefundReason, Reported, Settlement,
};

/// The payments of a batch.
pub(super) struct Till {
    payments: BTreeMap<PaymentKey, Kept>,
    of_orders: HashMap<OrderKey, BTreeSet<PaymentKey>>,
    reports: Vec<NewReport>,
    settled: Vec<Settlement>,
}

/// A payment while it is being decided, and as it stands in the table.
struct Kept {
    now: Payment,
    stored: Option<Payment>,
}

impl Till {
    pub fn new(stored: Vec<Payment>) -> Self {
        let mut till =
            Self { payments: BTreeMap::new(), of_orders: HashMap::new(), reports: Vec::new(), settled: Vec::new() };
        for payment in stored {
            till.keep(Kept { now: payment.clone(), stored: Some(payment) });
        }
        till
    }

    fn keep(&mut self, kept: Kept) {
        self.of_orders.entry(kept.now.order.clone()).or_default().insert(kept.now.key.clone());
        self.payments.insert(kept.now.key.clone(), kept);
    }

    /// A payment as it is by now.
    pub fn get(&self, key: &PaymentKey) -> Option<&Payment> {
        self.payments.get(key).map(|kept| &kept.now)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &PaymentKey) -> Option<&mut Payment> {
        self.payments.get_mut(key).map(|kept| &mut kept.now)
    }

    /// The payments of an order, in order of their keys.
    pub fn of_order(&self, order: &OrderKey) -> impl Iterator<Item = &Payment> {
        self.of_orders.get(order).into_iter().flatten().filter_map(|key| self.get(key))
    }

    /// Whether a payment that is known here pays the order.
    pub fn is_paid(&self, order: &OrderKey) -> bool {
        self.of_order(order).any(|payment| payment.pays)
    }

    /// Keeps what was said. The state rises to it, if that is higher; a refund says so by itself.
    pub fn record(&mut self, ask: &Ask<'_>, report: &PaymentReport) -> &mut Payment {
        let reported = Reported { says: report.says, event_id: ask.event.id.clone(), amount: report.amount };
        self.reports.push(NewReport {
            key: report.key.clone(),
            reported: reported.clone(),
            reason: report.reason.clone(),
        });
        if !self.payments.contains_key(&report.key) {
            let now = Payment {
                key: report.key.clone(),
                order: report.order.clone(),
                state: report.says,
                amount: None,
                refunded: 0,
                pays: false,
                reports: Vec::new(),
                required: Vec::new(),
            };
            self.keep(Kept { now, stored: None });
        }
        let kept = self.payments.get_mut(&report.key).expect("it was kept above");
        let payment = &mut kept.now;
        payment.reports.push(reported);
        if report.says != PaymentState::Refunded {
            payment.state = payment.state.max(report.says);
            // What was taken counts, and before that what was last announced.
            if report.amount.is_some() && (report.says == PaymentState::Succeeded || payment.state == report.says) {
                payment.amount = report.amount;
            }
        }
        payment
    }

    /// Remembers that a refund settles what was required of a payment before this batch.
    pub fn settle(&mut self, key: &PaymentKey, whole: bool, settles: impl Fn(RefundReason) -> bool) {
        let stored = self.payments.get(key).and_then(|kept| kept.stored.as_ref());
        if stored.is_some_and(|stored| stored.required.iter().any(|reason| settles(*reason))) {
            self.settled.push(Settlement { key: key.clone(), whole });
        }
    }

    /// Writes what must be written of the payments.
    pub fn finish(self, decision: &mut Decision) {
        for kept in self.payments.into_values() {
            let same = |stored: &Payment| {
                let columns = |payment: &Payment| (payment.state, payment.amount, payment.refunded, payment.pays);
                columns(stored) == columns(&kept.now)
            };
            if !kept.stored.as_ref().is_some_and(same) {
                let before = kept.stored.map(|stored| (stored.state, stored.refunded));
                decision.payments.push(PaymentChange { before, after: kept.now });
            }
        }
        decision.reports = self.reports;
        decision.settled = self.settled;
    }
}
