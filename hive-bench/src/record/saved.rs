//! Reads the file of an earlier run, gzipped or not.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::record::results::Run;
use crate::system::files;

/// Reads the run from a file of `--json`. An error says why that cannot be done.
pub(crate) fn read(path: &Path) -> Result<Run, String> {
    let at = |error: String| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| at(format!("cannot be read: {error}")))?;
    parse(BufReader::new(file)).map_err(at)
}

fn parse(source: impl BufRead) -> Result<Run, String> {
    let source = files::unpacked(source).map_err(|error| format!("cannot be read: {error}"))?;
    serde_json::from_reader(source).map_err(|error| match error.is_io() {
        true => format!("cannot be unpacked: {error}"),
        false => format!("is not a run that `hive-bench --json` left: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::record::results::tests::run;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_run_comes_back_packed_or_not() {
        let text = serde_json::to_string(&run()).unwrap();
        assert_eq!(parse(text.as_bytes()), Ok(run()));
        assert_eq!(parse(&packed(&text)[..]), Ok(run()));
    }

    #[test]
    fn what_is_not_a_run_is_refused() {
        for (bytes, why) in
            [(&b"{}"[..], "is not a run"), (b"words", "is not a run"), (&[0x1f, 0x8b, 1], "cannot be unpacked")]
        {
            let error = parse(bytes).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(read(Path::new("/nowhere/at/all.json")).unwrap_err().contains("/nowhere/at/all.json: cannot be read"));
    }
}
