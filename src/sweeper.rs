//! The room `sweeper`.
