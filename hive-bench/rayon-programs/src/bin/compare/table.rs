//! The table of all rows.

use std::collections::BTreeMap;

use crate::options::Pair;
use crate::process::Figures;
use crate::statistics::Quartiles;

/// The table as text. With `whole`, it has CPU time and memory, too.
pub(crate) fn text(rows: &[(&Pair, usize)], samples: &BTreeMap<usize, Vec<[Figures; 2]>>, whole: bool) -> String {
    let mut lines =
        vec![["case", "threads", "rounds", "Rayon", "hive / Rayon", "middle half"].map(str::to_owned).to_vec()];
    if whole {
        lines[0].extend(["CPU: Rayon", "hive / Rayon", "memory: Rayon", "hive"].map(str::to_owned));
    }
    for (number, (pair, threads)) in rows.iter().enumerate() {
        let mut line = vec![pair.name.clone(), threads.to_string()];
        match samples.get(&number) {
            None => line.extend(["0", "failed"].map(str::to_owned)),
            Some(samples) => line.extend(figures(samples, whole)),
        }
        lines.push(line);
    }
    aligned(&lines)
}

/// What stands behind the number of threads.
fn figures(samples: &[[Figures; 2]], whole: bool) -> Vec<String> {
    let median =
        |build: usize, of: fn(&Figures) -> f64| Quartiles::of(samples.iter().map(|pair| of(&pair[build]))).median;
    // A ratio is taken within each pair, because the speed of the machine changes from pair to pair.
    let ratio = |of: fn(&Figures) -> f64| Quartiles::of(samples.iter().map(|[rayon, hive]| of(hive) / of(rayon)));
    let time = ratio(|figures| figures.time);
    let mut fields = vec![
        samples.len().to_string(),
        duration(median(0, |figures| figures.time)),
        format!("{:.3}", time.median),
        format!("{:.3} - {:.3}", time.lower, time.upper),
    ];
    if whole {
        fields.push(duration(median(0, |figures| figures.cpu)));
        fields.push(format!("{:.3}", ratio(|figures| figures.cpu).median));
        fields.extend([0, 1].map(|build| format!("{:.1} MiB", median(build, |figures| figures.memory))));
    }
    fields
}

/// Seconds with a unit, in three digits or more.
fn duration(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.digits$} {unit}")
}

/// The fields in columns: the first begins, all others end below each other.
fn aligned(lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        for (column, field) in line.iter().enumerate() {
            let width = width(column);
            text += &if column == 0 { format!("{field:width$}") } else { format!("  {field:>width$}") };
        }
        text.push('\n');
    }
    text
}
