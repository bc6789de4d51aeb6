//! Reads the file of an earlier run, gzipped or not, of this build or another one.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::record::results::{Run, Unknown};

/// What every gzipped file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the run from a file of `--json`. An error says why that cannot be done.
pub(crate) fn read(path: &Path) -> Result<Run, String> {
    let at = |error: String| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| at(format!("cannot be read: {error}")))?;
    parse(&bytes).map_err(at)
}

fn parse(bytes: &[u8]) -> Result<Run, String> {
    let mut text = Vec::new();
    let bytes = if bytes.starts_with(&GZIP) {
        let unpacked = GzDecoder::new(bytes).read_to_end(&mut text);
        unpacked.map_err(|error| format!("cannot be unpacked: {error}"))?;
        &text
    } else {
        bytes
    };
    let not_a_run = |error: serde_json::Error| format!("is not a run that `hive-bench --json` left: {error}");
    let mut file: Value = serde_json::from_slice(bytes).map_err(not_a_run)?;
    let records = known(&mut file, "records");
    let absent = known(&mut file, "absent");
    let mut run: Run = serde_json::from_value(file).map_err(not_a_run)?;
    (run.records, run.unknown) = records;
    (run.absent, _) = absent;
    if run.records.is_empty() && run.unknown.records > 0 {
        return Err(run.unknown.sentence().unwrap_or_default() + "; nothing is left");
    }
    Ok(run)
}

/// Takes the entries of a list out of the file, and leaves an empty list there. Entries that this build does not
/// understand are counted.
fn known<T: DeserializeOwned>(file: &mut Value, list: &str) -> (Vec<T>, Unknown) {
    let (mut known, mut unknown) = (Vec::new(), Unknown::default());
    let entries = file.get_mut(list).and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    for entry in entries {
        let name = |key| entry.get(key).and_then(Value::as_str).unwrap_or("?");
        let of = format!("{} of {}", name("runtime"), name("case"));
        match serde_json::from_value(entry) {
            Ok(entry) => known.push(entry),
            Err(_) => {
                unknown.records += 1;
                unknown.names.insert(of);
            }
        }
    }
    (known, unknown)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::record::results::tests::run;

    const REGION: &str = r#""case":"region""#;
    const TELEPORT: &str = r#""case":"teleport""#;

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
    fn what_is_not_known_is_left_out_and_reported() {
        let text = serde_json::to_string(&run()).unwrap().replacen(REGION, TELEPORT, 1);
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!(read.records.len(), run().records.len() - 1);
        let sentence = read.unknown.sentence().unwrap();
        assert!(sentence.contains("1 in all") && sentence.contains("of teleport"), "{sentence}");
        let all = text.replace(REGION, TELEPORT);
        assert!(parse(all.as_bytes()).unwrap_err().contains("nothing is left"));
    }

    #[test]
    fn an_older_file_has_fewer_fields() {
        let mut file = serde_json::to_value(run()).unwrap();
        file["machine"].as_object_mut().unwrap().remove("topology").unwrap();
        file["budget"].as_object_mut().unwrap().remove("fib").unwrap();
        assert_eq!(parse(file.to_string().as_bytes()).unwrap().records, run().records);
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
