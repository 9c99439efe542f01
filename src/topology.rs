//! The room `topology`.
