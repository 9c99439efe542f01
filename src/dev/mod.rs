//! The room `dev`.
