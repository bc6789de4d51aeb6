//! Reads the file of an earlier run, gzipped or not.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::record::results::Run;

/// What every gzipped file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the run from a file of `--json`. An error says why that cannot be done.
pub(crate) fn read(path: &Path) -> Result<Run, String> {
    let at = |error: String| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| at(format!("cannot be read: {error}")))?;
    parse(&bytes).map_err(at)
}

fn parse(bytes: &[u8]) -> Result<Run, String> {
    let mut unpacked = Vec::new();
    let text = if bytes.starts_with(&GZIP) {
        let all = GzDecoder::new(bytes).read_to_end(&mut unpacked);
        all.map_err(|error| format!("cannot be unpacked: {error}"))?;
        &unpacked
    } else {
        bytes
    };
    serde_json::from_slice(text).map_err(|error| format!("is not a run that `hive-bench --json` left: {error}"))
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
        assert_eq!(parse(&packed(&text)), Ok(run()));
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
