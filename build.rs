//! Cargo runs this program before it builds the library. It records how the library is built, in environment variables
//! of the compiler that `hive::build_info()` reads. It warns about what cannot be found out, and never fails.

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

/// Makes `value` the compiler's environment variable `HIVE_<name>`.
fn record(name: &str, value: String) {
    println!("cargo::rustc-env=HIVE_{name}={value}");
}

/// The value of a variable that cargo sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| warn(name))
}

/// Warns that something cannot be found out, and returns the value to record for it.
fn warn(what: &str) -> String {
    println!("cargo::warning={what} could not be found out; build_info() will say \"unknown\"");
    "unknown".to_owned()
}

/// The features that change how the library reads the machine, separated by commas.
fn features() -> String {
    let is_on = |name: &&str| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    ["hwloc"].iter().filter(|name| is_on(name)).copied().collect::<Vec<_>>().join(",")
}

/// The version of hwloc that the library is built with; "none" without the feature.
fn hwloc() -> String {
    if env::var_os("CARGO_FEATURE_HWLOC").is_none() {
        return "none".to_owned();
    }
    output("pkg-config", &["--modversion", "hwloc"]).unwrap_or_else(|| warn("the version of hwloc"))
}

/// The commit of this checkout. A packaged copy has none, and must not ask git, because it may be inside the checkout
/// of another project.
fn commit() -> String {
    if !Path::new(".git").exists() {
        return "unknown".to_owned();
    }
    // A commit changes the log of HEAD, and changing the branch changes HEAD. In a worktree they are not in `.git`,
    // which is a file there. Whether there are changes without a commit is only looked at when the library's source has
    // changed, too: to follow the index would build everything again after each `git add`.
    println!("cargo::rerun-if-changed=hive");
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output("git", &["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // Without the locks git leaves the index as it is, which it would else bring up to date.
    let described =
        output("git", &["--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    described.unwrap_or_else(|| warn("the commit"))
}

/// The first line that a program prints; `None` if the program fails or prints nothing.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}
