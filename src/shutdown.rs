//! The room `shutdown`.
