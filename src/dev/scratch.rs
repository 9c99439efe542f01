//! A private directory that does not stay.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const PREFIX: &str = "lastunit-";
const LOCK: &str = "lock";

/// A private directory under the system's temporary one.
///
/// It goes when dropped. What a process left that ended without dropping it goes when the next one is made: as long as the owner
/// lives it holds a lock, and what nobody holds is nobody's.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes those that are nobody's.
    pub fn new() -> Result<Self> {
        let parent = std::env::temp_dir().canonicalize()?;
        sweep(&parent);
        // Locked under a hidden name first: nobody ever sees one by its own name that is not locked.
        let hidden = tempfile::Builder::new()
            .prefix(&format!(".{PREFIX}"))
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&parent)
            .with_context(|| format!("cannot make a directory in {}", parent.display()))?;
        let lock = File::create_new(hidden.path().join(LOCK))?;
        lock.lock()?;
        let name = hidden.path().file_name().unwrap_or_default();
        let path = parent.join(name.to_string_lossy().trim_start_matches('.'));
        fs::rename(hidden.path(), &path)?;
        // Renamed: nothing of that name is left for it to remove.
        let _ = hidden.keep();
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours
            && let Ok(lock) = File::open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
