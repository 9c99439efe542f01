//! Who may do what, asked of the servers themselves: each role does what it is for, and the server, not the program, refuses the rest.
//!
//! The tables that the tests print stand in `docs/permissions.md`, and are compared with it.

mod broker;
mod database;
mod keys;
mod program;
mod table;
mod tls;
mod wire;
