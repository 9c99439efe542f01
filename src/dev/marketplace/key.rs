//! The keys that are taken. They open nothing else.

/// Ozon's.
pub(super) const CLIENT_ID: &str = "100500";
/// Ozon's.
pub(super) const API_KEY: &str = "5imu1ated-ozon-k3y";
/// Wildberries': a JWT that ends on 2030-01-01 and is of the category Marketplace.
pub(super) const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJleHAiOjE4OTM0NTYwMDAsInMiOjE2fQ.c2ltdWxhdGVk";
/// The webhook's.
pub(super) const SECRET: &str = "whsec_c2ltdWxhdGVkIHdlYmhvb2sgc2VjcmV0IQ==";
/// When Ozon's key ends.
pub(super) const EXPIRES_AT: &str = "2030-01-01T00:00:00Z";
