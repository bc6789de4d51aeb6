//! Links nothing. Cargo demands a build script of a package with a `links` key.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
