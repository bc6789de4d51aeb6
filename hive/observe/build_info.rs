//! How this copy of hive was built. `build.rs` records it in environment variables when the library is compiled.

use std::fmt;

/// How this copy of the library was built. [`build_info`] returns it.
///
/// ```
/// let info = hive::build_info();
/// println!("hive {} for {}, hwloc {}", info.version, info.target, info.hwloc);
/// if info.opt_level == "0" {
///     println!("these times say nothing: hive is not optimised");
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildInfo {
    /// The library's version.
    pub version: &'static str,
    /// The compiler, as `rustc --version` prints it.
    pub rustc: &'static str,
    /// The target triple.
    pub target: &'static str,
    /// The optimisation level, such as "3".
    pub opt_level: &'static str,
    /// "debug" or "release": the cargo profile that the profile in use inherits from.
    pub profile: &'static str,
    /// The cargo features in effect, separated by commas; empty if there are none.
    pub features: &'static str,
    /// The version of hwloc that was found at build time, or "none".
    pub hwloc: &'static str,
    /// The commit, followed by "-dirty" if files had been changed; "unknown" outside a git checkout.
    pub commit: &'static str,
}

/// Returns how this copy of the library was built: compiler, target, features, hwloc, commit.
///
/// ```
/// println!("{}", hive::build_info());
/// ```
pub fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION"),
        rustc: env!("HIVE_RUSTC"),
        target: env!("HIVE_TARGET"),
        opt_level: env!("HIVE_OPT_LEVEL"),
        profile: env!("HIVE_PROFILE"),
        features: env!("HIVE_FEATURES"),
        hwloc: env!("HIVE_HWLOC"),
        commit: env!("HIVE_COMMIT"),
    }
}

impl fmt::Display for BuildInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, rustc, target, opt_level, profile, features, hwloc, commit } = self;
        write!(f, "{version}, commit {commit}; {rustc}, {target}, {profile}, opt-level {opt_level}; ")?;
        write!(f, "features: {}; hwloc: {hwloc}", if features.is_empty() { "none" } else { features })
    }
}
