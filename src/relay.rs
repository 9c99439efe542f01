//! The room `relay`.
