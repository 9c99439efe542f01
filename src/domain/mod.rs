//! The room `domain`.
