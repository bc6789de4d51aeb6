//! The files and folders that something can refer to.

use std::collections::BTreeSet;

pub(crate) struct Targets {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Targets {
    pub(crate) fn new(paths: impl Iterator<Item = String>) -> Self {
        let files: BTreeSet<_> = paths.collect();
        let parts = |path: &str| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
        let folders = files.iter().flat_map(|path| parts(path)).collect();
        Self { files, folders }
    }

    /// Whether there is a file or folder at a path from the root. `*` stands for any part of a name.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        if path.contains('*') {
            return self.files.iter().chain(&self.folders).any(|known| matches(path, known));
        }
        path.is_empty() || self.files.contains(path) || self.folders.contains(path)
    }

    /// Whether the path of any file ends with these parts.
    pub(crate) fn has_end(&self, end: &str) -> bool {
        let is_end = |path: &str| path.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'));
        self.files.iter().any(|path| is_end(path))
    }

    /// The names of the folders at the root.
    pub(crate) fn top_folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str).filter(|folder| !folder.contains('/'))
    }
}

/// Whether a path is that of a pattern, in which `*` stands for anything within a part of a path.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => path.strip_prefix(start).is_some_and(|path| {
            let ends = path.char_indices().map(|(index, _)| index).chain([path.len()]);
            ends.take_while(|&end| !path[..end].contains('/')).any(|end| matches(rest, &path[end..]))
        }),
    }
}

/// The path from the root that a link in a file leads to, or nothing if it leads out of the repository.
pub(crate) fn joined(file: &str, link: &str) -> Option<String> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[test]
fn files_folders_and_patterns_are_known() {
    let targets = Targets::new(["a/b/c.rs", "d.md"].map(str::to_owned).into_iter());
    for path in ["a", "a/", "a/b", "a/b/c.rs", "d.md", "a/b/*.rs", "a/*/c.rs"] {
        assert!(targets.has(path), "{path}");
    }
    for path in ["b", "a/c.rs", "a/b/*.md", "a/*.rs"] {
        assert!(!targets.has(path), "{path}");
    }
    assert!(
        targets.has_end("b/c.rs") && targets.has_end("d.md") && !targets.has_end("x.rs") && !targets.has_end(".md")
    );
    assert_eq!(targets.top_folders().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn links_are_followed_from_the_folder_of_their_file() {
    assert_eq!(joined("docs/a.md", "../x/y.rs").as_deref(), Some("x/y.rs"));
    assert_eq!(joined("a.md", "docs/").as_deref(), Some("docs"));
    assert_eq!(joined("a.md", "../x"), None);
}
