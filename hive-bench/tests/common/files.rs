//! Files of one test, in a directory of its own.

use std::path::{Path, PathBuf};

/// Removed with all that is in it when the test is over.
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn new(test: &str) -> Self {
        let home = std::env::temp_dir().join(format!("hive-bench-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a temporary directory");
        Self(home)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a temporary directory with a plain name").to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(Path::new(&self.path(name))).expect("the file is there and text")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Left behind in a temporary directory at worst.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
