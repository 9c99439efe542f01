//! The room `messages`.
