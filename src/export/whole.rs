//! A file that is there whole or not at all: it is written beside its place, and put there when it is finished.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file being written. Dropped, it leaves nothing behind, and what stood in its place stays.
#[derive(Debug)]
pub struct Whole {
    file: NamedTempFile,
    place: PathBuf,
}

impl Whole {
    /// Begins a file that is to stand at `path`, in place of the one that may be there.
    ///
    /// # Errors
    /// Its directory takes no files, or what is there is no file (a device, say, which would be replaced by one).
    pub fn begin(path: &Path) -> io::Result<Self> {
        let place = match fs::metadata(path) {
            Ok(there) if there.is_file() => path.canonicalize()?,
            Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is there and is not a file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let dir = place.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As any file that a program writes: what the user's mask leaves of it.
        let file = Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(dir)?;
        Ok(Self { file, place })
    }

    /// Where it is written.
    pub fn writer(&mut self) -> impl io::Write {
        io::BufWriter::new(self.file.as_file_mut())
    }

    /// Puts it in its place, once it is on disk.
    ///
    /// # Errors
    /// The file system's own; then it is not there.
    pub fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.place)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_not_finished_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stock.csv");
        fs::write(&path, "before").unwrap();
        let mut whole = Whole::begin(&path).unwrap();
        whole.writer().write_all(b"half").unwrap();
        drop(whole);
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        let mut whole = Whole::begin(&path).unwrap();
        whole.writer().write_all(b"whole").unwrap();
        whole.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_is_not_replaced_and_a_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Whole::begin(dir.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(Whole::begin(Path::new("/dev/null")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut whole = Whole::begin(&link).unwrap();
        whole.writer().write_all(b"after").unwrap();
        whole.finish().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
