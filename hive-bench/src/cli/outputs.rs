//! Where the files of a run go: the page for a browser, and the raw samples.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::system::files::writable;

/// The argument of `--html` and `--json` for which no file is written.
const NONE: &str = "none";

/// The files to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outputs {
    pub(crate) page: Option<PathBuf>,
    pub(crate) samples: Option<PathBuf>,
    /// The directory of those that were not named; it may have to be made.
    home: Option<PathBuf>,
}

impl Outputs {
    /// Chooses the files by the flags. A file without a flag gets a name by the date, in `home`. A named file that
    /// cannot be written is an error here, before the run, which may take an hour.
    pub(crate) fn choose(
        html: Option<&Path>,
        json: Option<&Path>,
        home: &Path,
        date: SystemTime,
    ) -> Result<Self, String> {
        // Colons have to be quoted in some shells, and some file systems do not take them.
        let date = humantime::format_rfc3339_seconds(date).to_string().replace(':', "-");
        let choose = |flag: &str, path: Option<&Path>, ending: &str| match path {
            None => Ok(Some(home.join(format!("{date}.{ending}")))),
            Some(path) if path == Path::new(NONE) => Ok(None),
            Some(path) => writable(flag, path).map(|()| Some(path.to_owned())),
        };
        let (page, samples) = (choose("--html", html, "html")?, choose("--json", json, "json")?);
        let home = (html.is_none() || json.is_none()).then(|| home.to_owned());
        Ok(Self { page, samples, home })
    }

    /// Creates the directory for the files that no flag names, and checks that it can be written to.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let Some(home) = &self.home else { return Ok(()) };
        let trial = home.join(".trial");
        let written =
            fs::create_dir_all(home).and_then(|()| fs::write(&trial, "")).and_then(|()| fs::remove_file(&trial));
        written.map_err(|error| {
            format!(
                "{}: cannot be written to: {error}; name files with --html and --json, or say `{NONE}`",
                home.display()
            )
        })
    }
}

/// Inside cargo's target directory if the current directory has one, and otherwise in the current directory itself.
pub(crate) fn default_home() -> PathBuf {
    let target = Path::new("target");
    if target.is_dir() { target.join("hive-bench") } else { PathBuf::from("hive-bench-results") }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn choose(html: Option<&str>, json: Option<&str>) -> Result<Outputs, String> {
        let date = UNIX_EPOCH + Duration::from_secs(86_399);
        Outputs::choose(html.map(Path::new), json.map(Path::new), Path::new("home"), date)
    }

    #[test]
    fn files_that_are_not_named_are_named_by_the_date() {
        let outputs = choose(None, None).unwrap();
        assert_eq!(outputs.page, Some(PathBuf::from("home/1970-01-01T23-59-59Z.html")));
        assert_eq!(outputs.samples, Some(PathBuf::from("home/1970-01-01T23-59-59Z.json")));
    }

    #[test]
    fn flags_name_a_file_or_none() {
        assert_eq!(choose(Some("none"), Some("none")), Ok(Outputs::default()));
        let outputs = choose(Some("/dev/null"), None).unwrap();
        assert_eq!(outputs.page, Some(PathBuf::from("/dev/null")));
        assert!(outputs.samples.is_some() && outputs.home.is_some());
        let error = choose(None, Some("/nowhere/at/all")).unwrap_err();
        assert!(error.contains("--json /nowhere/at/all"), "{error}");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_found_before_the_run() {
        let outputs = Outputs { home: Some(PathBuf::from("/dev/null/below")), ..Outputs::default() };
        let error = outputs.prepare().unwrap_err();
        assert!(error.contains("/dev/null/below") && error.contains("`none`"), "{error}");
    }
}
