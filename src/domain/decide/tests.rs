//! What the contract says of deciding: as tables by subject, and as a naive model that random sequences are compared with.

mod ask;
mod batches;
mod cancel;
mod create;
mod denials;
mod expiry;
mod inventory;
mod kept;
mod model;
mod parcels;
mod payments;
mod random;
mod renew;
mod repeats;
mod slots;
mod waiting;
mod warehouses;
mod world;
