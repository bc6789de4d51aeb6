//! The page of a real run, as a browser shows it.

mod common;
#[path = "common/files.rs"]
mod files;

use std::fs::File;
use std::io::BufReader;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{hive_bench, refused, stderr, stdout};
use files::Files;

const SIZE: (u32, u32) = (1200, 2400);
/// A browser that takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Writes the page of a run with a bit of everything.
fn page(files: &Files) -> String {
    let path = files.path("page.html");
    let cases = "region,idle-2ms,idle-20ms";
    let output = hive_bench(&[
        "--quick",
        "--rounds",
        "1",
        "--case",
        cases,
        "--runtime",
        "hive,rayon-worker,std-scope",
        "--json",
        "none",
        "--html",
        &path,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("Page:        {path}")), "{}", stdout(&output));
    files.read("page.html")
}

#[test]
fn a_page_needs_nothing_but_itself_and_has_all_charts() {
    let page = page(&Files::new("html"));
    assert_eq!(
        page.replace("http://www.w3.org/2000/svg", "").matches("http").count(),
        0,
        "something is loaded from elsewhere"
    );
    assert!(!page.contains("<script") && !page.contains("<link") && !page.contains("url("));
    let mut parts = vec![
        "hive is ahead in",
        "class=\"machine\"",
        "region, a team of one: median",
        "region, a team of one: all samples",
    ];
    // A machine with one CPU has nobody to wake.
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        parts.extend(["idle-20ms, a team of", "nothing to do for", "threads of the team", "best rival"]);
    }
    for part in parts {
        assert!(page.contains(part), "{part} is missing");
    }
    let charts = page.matches("<svg role=\"img\"").count();
    assert_eq!(
        charts,
        page.matches("</title>").count() - 1 - page.matches("class=\"strip\"").count() - 1,
        "every chart has a name"
    );
}

#[test]
fn a_filed_run_is_a_page_of_reasonable_size() {
    let files = Files::new("html-filed");
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/runs/2026-11-20-2-cpus-tasks.json.gz");
    let output = hive_bench(&["report", run, "--html", &files.path("page.html")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = files.read("page.html");
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    for case in ["jacobi-barrier", "wake-200ms", "idle-use-2s", "join-tree"] {
        assert!(page.contains(&format!("{case}, a team of 2: median")), "{case} is missing");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_bad_usage() {
    refused(
        &["--case", "region", "--html", "/nowhere/at/all.html"],
        &["--html /nowhere/at/all.html", "cannot be written"],
    );
}

#[test]
fn a_browser_shows_the_page() {
    let Some(browser) = browser() else {
        println!("skipped: no chromium, chromium-browser or google-chrome here");
        return;
    };
    if std::env::var_os("HIVE_TEST_GUEST").is_some() {
        println!("skipped: in a guest each of the browser's instructions may be emulated");
        return;
    }
    let files = Files::new("html-browser");
    page(&files);
    let picture = files.path("page.png");
    let child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", files.path("profile")))
        .arg(format!("--screenshot={picture}"))
        .arg(format!("--window-size={},{}", SIZE.0, SIZE.1))
        .arg(format!("file://{}", files.path("page.html")))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    wait(child);
    let pixels = pixels(&picture);
    let colours: std::collections::HashSet<_> = pixels.iter().collect();
    assert!(colours.len() > 40, "{} colours are no page with charts", colours.len());
    // The ground is the first pixel's colour; a line of text is more than one pixel in five hundred of a band.
    for (band, rows) in pixels.chunks(pixels.len() / 6).take(4).enumerate() {
        let ink = rows.iter().filter(|pixel| **pixel != pixels[0]).count();
        assert!(ink * 500 > rows.len(), "band {band} of the page is empty: {ink} of {} pixels", rows.len());
    }
}

fn browser() -> Option<&'static str> {
    let runs = |name: &&str| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)
}

fn wait(mut child: Child) {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the browser can be waited for") {
            assert!(status.success(), "the browser ended with {status}");
            return;
        }
        if begin.elapsed() > TIME_LIMIT {
            child.kill().expect("the browser can be killed");
            panic!("the browser was not done after {TIME_LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Red, green and blue of every pixel, row by row.
fn pixels(path: &str) -> Vec<[u8; 3]> {
    let file = File::open(path).expect("the browser left a picture");
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().expect("the picture is a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a picture that fits into memory")];
    let frame = reader.next_frame(&mut bytes).expect("the picture is whole");
    assert_eq!((frame.width, frame.height), SIZE);
    bytes[..frame.buffer_size()]
        .chunks(frame.color_type.samples())
        .map(|pixel| [pixel[0], pixel[1], pixel[2]])
        .collect()
}
