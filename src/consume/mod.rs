//! The room `consume`.
