//! Records how the library is built, for `hive::build_info()`. Warns where something cannot be found out, and never fails.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    record("RUSTC", output(&variable("RUSTC"), &["--version"]).unwrap_or_else(|| warn("the compiler's version")));
    record("TARGET", variable("TARGET"));
    record("OPT_LEVEL", variable("OPT_LEVEL"));
    record("PROFILE", variable("PROFILE"));
    record("FEATURES", features());
    record("HWLOC", hwloc());
    record("COMMIT", commit());
}

fn record(name: &str, value: String) {
    println!("cargo::rustc-env=HIVE_{name}={value}");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| warn(name))
}

/// What to record for something that cannot be found out.
fn warn(what: &str) -> String {
    println!("cargo::warning={what} could not be found out; build_info() will say \"unknown\"");
    "unknown".to_owned()
}

fn features() -> String {
    let is_on = |name: &&str| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    ["hwloc"].iter().filter(|name| is_on(name)).copied().collect::<Vec<_>>().join(",")
}

fn hwloc() -> String {
    if env::var_os("CARGO_FEATURE_HWLOC").is_none() {
        return "none".to_owned();
    }
    output("pkg-config", &["--modversion", "hwloc"]).unwrap_or_else(|| warn("the version of hwloc"))
}

/// The commit of this checkout; a packaged copy has none, and may lie inside somebody else's.
fn commit() -> String {
    if !Path::new(".git").exists() {
        return "unknown".to_owned();
    }
    // The commit changes what HEAD or its branch names, and adding files changes the index.
    for file in ["HEAD", "index", "logs/HEAD"] {
        println!("cargo::rerun-if-changed=.git/{file}");
    }
    let described = output("git", &["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    described.unwrap_or_else(|| warn("the commit"))
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}
