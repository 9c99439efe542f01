//! Programs with a wrong clock: Debian's libfaketime, on our own processes only.

use std::fs;
use std::path::PathBuf;

use super::Launch;

impl Launch {
    /// With a clock that is so many seconds ahead, or behind.
    pub fn clock(self, seconds: i64) -> Self {
        self.env("LD_PRELOAD", library().display().to_string())
            .env("FAKETIME", format!("{seconds:+}"))
            // What measures spans stays as it is: the kernel's own waiting would not follow it.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
    }
}

/// The library, wherever this architecture and distribution keep it.
fn library() -> PathBuf {
    let dirs = fs::read_dir("/usr/lib").unwrap().flatten().map(|dir| dir.path()).chain([PathBuf::from("/usr/lib64")]);
    let mut found = dirs.map(|dir| dir.join("faketime/libfaketime.so.1")).filter(|path| path.exists());
    found.next().expect("faketime is not installed: run scripts/install")
}
