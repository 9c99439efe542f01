//! Integration tests: one binary, private servers.
