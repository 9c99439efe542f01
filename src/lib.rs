//! lastunit makes sure that the last unit on the shelf is sold once.
//!
//! # The way of one message
//!
//! ```text
//! ORDERS ─ consume ─▶ batch ─ messages::decode ─▶ commands            (malformed: refused; the rest go on)
//!   BEGIN ─ claim event ids ─ claim and lock orders ─ lock stock, resources ─▶ Snapshot, now = the database's clock after the last lock
//!     ─ domain::decide ─▶ Decision ─ store::apply (conditional, counted) ─ COMMIT
//!   ─▶ ack | nak | term
//! outbox ─ relay (in order, a lane per stream) ─▶ STOCK, RESERVATIONS, DEAD
//! STOCK ─ publish ─▶ stock_push ─ claim (one in flight a point) ─▶ Marketplace::push ─▶ outcome per item
//! timer ─ publish ─▶ Marketplace::observe ─▶ stock_observation ─▶ confirmed | again | review
//! ```
//!
//! # Rooms
//!
//! | room | what it is for |
//! |---|---|
//! | [`domain`] | what is decided, and nothing else: no I/O, no clock, no randomness |
//! | [`messages`] | wire to domain and back: envelopes, bodies, subjects, reasons |
//! | [`engine`] | one batch, one transaction: claim, lock, decide, apply, commit |
//! | [`store`] | the statements, one `.sql` beside the function that runs it |
//! | [`consume`] | durable pull consumers: batches that form by themselves, acknowledged after the commit |
//! | [`relay`] | outbox to JetStream, in order, and again where a person asks for it |
//! | [`publish`] | channels told what they should show, and read: ozon, wildberries, webhooks |
//! | [`losses`] | what the broker has lost, noticed |
//! | [`import`] | CSV files in: opening figures, the channels' warehouses, resources, orders under way; or held against the tables |
//! | [`export`] | CSV files out: those that the imports take |
//! | [`sweeper`] | what is overdue becomes commands |
//! | [`retention`] | what was kept long enough is let go of |
//! | [`audit`] | the invariants, asked of tables and streams |
//! | [`explain`] | why: the story of an order, the figures of a shelf at a moment |
//! | [`report`] | what a shop decides by: holds against payments, where an order's time went |
//! | [`recover`] | what is to be done when PostgreSQL went back in time |
//! | [`broker`], [`topology`] | the connection to NATS; streams and durable consumers, compared and applied |
//! | [`config`], [`telemetry`], [`shutdown`], [`ops`], [`cli`] | what surrounds a service |
//! | [`bench`](mod@bench) | what it can do, measured beside one transaction per order |
//! | [`dev`] | private PostgreSQL and NATS for `dev`, tests and benches |
//!
//! # Invariants
//!
//! 1. `0 ≤ reserved ≤ on_hand` in every stock row at every instant.
//! 2. `reserved` = Σ (qty − shipped) over live reservations of that row = Σ of the journal.
//! 3. `on_hand` = Σ of the movements.
//! 4. A reservation's state is the `to_state` of its last journal row.
//! 5. One reservation per (channel, order, SKU); no two held or confirmed slots of a resource overlap.
//! 6. Every accepted message has one fate: processed, waiting, or refused.
//! 7. A stock row's version strictly grows, and the last event told of a row carries its present figures once the outbox is empty.
//! 8. What a point is told never gets older, one sending at a time; what is known to be shown was told.
//! 9. Money that was taken ends as a confirmed reservation, a required refund, or a review.

pub mod audit;
pub mod bench;
pub mod broker;
pub mod cli;
pub mod config;
pub mod consume;
pub mod dev;
pub mod domain;
pub mod engine;
pub mod explain;
pub mod export;
mod failpoint;
pub mod import;
pub mod losses;
pub mod messages;
pub mod ops;
pub mod publish;
pub mod recover;
pub mod relay;
pub mod report;
pub mod retention;
pub mod service;
pub mod shutdown;
pub mod store;
pub mod sweeper;
pub mod telemetry;
pub mod topology;
mod visible;

pub(crate) use failpoint::crash_point;
