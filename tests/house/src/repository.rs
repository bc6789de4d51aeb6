//! The files of the repository: what git does not ignore, read once.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use ignore::WalkBuilder;

/// Folders and files that are records of the past or written by tools. No check reads them.
const NOT_CHECKED: [&str; 4] = ["docs/runs/", ".git/", "proptest-regressions/", "CHANGELOG.md"];

/// A text file of the repository.
pub(crate) struct File {
    /// From the root of the repository, with `/` on every system.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What kind of text a file has, which says how its comments look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rust,
    Markdown,
    /// Comments begin with `#`: shell scripts, TOML, the Makefile.
    Hash,
    Other,
}

impl File {
    pub(crate) fn kind(&self) -> Kind {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        match name.rsplit_once('.') {
            Some((_, "rs")) => Kind::Rust,
            Some((_, "md")) => Kind::Markdown,
            Some((_, "sh" | "toml")) => Kind::Hash,
            _ if name == "Makefile" || self.path.starts_with(".ci/") || self.text.starts_with("#!") => Kind::Hash,
            _ => Kind::Other,
        }
    }
}

/// The root of the repository: the nearest folder above this package that has the workspace's lock file.
pub(crate) fn root() -> PathBuf {
    // As it is when the tests run, which cargo says, not where they were built: a repository may be moved.
    let here = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = here.ancestors().find(|folder| folder.join("Cargo.lock").exists());
    root.expect("this package is in a workspace that has a Cargo.lock").to_path_buf()
}

/// All text files that are checked, by path.
pub(crate) fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut files: Vec<_> = paths()
            .iter()
            .filter(|path| !NOT_CHECKED.iter().any(|left_out| path.starts_with(left_out)))
            .filter_map(|path| Some(File { path: path.clone(), text: fs::read_to_string(root().join(path)).ok()? }))
            .collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    })
}

/// The text files of one kind.
pub(crate) fn files_of(kind: Kind) -> impl Iterator<Item = &'static File> {
    files().iter().filter(move |file| file.kind() == kind)
}

/// Every file that git does not ignore, binary files and those that are not checked among them.
pub(crate) fn paths() -> &'static [String] {
    static PATHS: OnceLock<Vec<String>> = OnceLock::new();
    PATHS.get_or_init(|| {
        let root = root();
        let walk = WalkBuilder::new(&root)
            .hidden(false)
            .require_git(false)
            .git_global(false)
            .git_exclude(false)
            .parents(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        walk.map(|entry| entry.expect("the repository's folders can be listed"))
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .map(|entry| relative(&root, entry.path()))
            .collect()
    })
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).expect("the walk stays below the root");
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The first part of a path, `.` for a file at the root: the key by which most lists count.
pub(crate) fn folder(path: &str) -> &str {
    path.split_once('/').map_or(".", |(folder, _)| folder)
}

#[test]
fn the_walk_finds_this_file_and_no_build_output() {
    assert!(files_of(Kind::Rust).any(|file| file.path.ends_with("/repository.rs")));
    assert!(files().iter().any(|file| file.path.starts_with(".ci/")));
    assert!(!paths().iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
}

#[test]
fn a_kind_is_known_by_name_or_first_line() {
    let kind = |path: &str, text: &str| File { path: path.into(), text: text.into() }.kind();
    assert_eq!(kind("a/b.rs", ""), Kind::Rust);
    assert_eq!(kind("README.md", ""), Kind::Markdown);
    assert_eq!(kind("tests/x/run", "#!/bin/sh\n"), Kind::Hash);
    assert_eq!(kind("a/b.xml", ""), Kind::Other);
}

#[test]
fn a_file_at_the_root_is_in_the_folder_dot() {
    assert_eq!(folder("README.md"), ".");
    assert_eq!(folder("hive/pool/mod.rs"), "hive");
}
