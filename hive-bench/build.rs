//! Compiles the OpenMP rival and the kernels' bodies with the system's C compiler. If that fails, a warning says so and
//! both are left out: a build never fails because a rival is missing.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(openmp_compiled)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=c");
    let state = match compile_openmp() {
        Ok(compiler) => {
            println!("cargo:rustc-cfg=openmp_compiled");
            compiler
        }
        Err(reason) => {
            if cfg!(feature = "openmp") {
                println!("cargo:warning=OpenMP is left out: {reason}");
            }
            reason
        }
    };
    println!("cargo:rustc-env=HIVE_BENCH_OPENMP={state}");
}

/// Which compiler built the rival, or why there is none.
#[cfg(not(feature = "openmp"))]
fn compile_openmp() -> Result<String, String> {
    Err("built without the feature openmp".to_owned())
}

/// The files in `c/kernels`.
#[cfg(feature = "openmp")]
const KERNELS: [&str; 9] =
    ["handing_out", "labels", "mandelbrot", "matmul", "nbody", "roots", "sparse", "stencil", "stream"];

/// Which compiler built the rival, or why there is none.
#[cfg(feature = "openmp")]
fn compile_openmp() -> Result<String, String> {
    let mut openmp = cc::Build::new();
    // The same optimization as rustc's release profile, and the instruction set that rustc was told, so that no runtime
    // gets wider vectors than another.
    if let Some(cpu) = rustc_cpu() {
        openmp.flag(format!("{}={cpu}", if is_x86() { "-march" } else { "-mcpu" }));
    }
    openmp.opt_level(3).flag("-ffp-contract=off");
    // A square root is an instruction, as in Rust, and does not set errno.
    openmp.flag("-fno-math-errno").files(KERNELS.map(|name| format!("c/kernels/{name}.c")));
    openmp.flag("-fopenmp").file("c/openmp.c").file("c/constructs.c");
    let compiler = openmp.try_get_compiler().map_err(|e| one_line(&format!("no C compiler: {e}")))?;
    link_trial(&compiler)?;
    openmp.try_compile("hive_bench_openmp").map_err(|e| one_line(&format!("c: {e}")))?;
    link_library(&compiler);
    Ok(version(&compiler))
}

/// The CPU of `-C target-cpu`. The crate cc passes on target features, but not this option.
#[cfg(feature = "openmp")]
fn rustc_cpu() -> Option<String> {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok()?;
    let cpu = |flag: &str| {
        let option = ["--codegen=", "-C"].iter().find_map(|prefix| flag.strip_prefix(prefix)).unwrap_or(flag);
        option.strip_prefix("target-cpu=").map(str::to_owned)
    };
    flags.split('\x1f').filter_map(cpu).next_back()
}

#[cfg(feature = "openmp")]
fn is_x86() -> bool {
    std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch.starts_with("x86"))
}

/// Links a trial program. A compiler may accept `-fopenmp` without a library to link, and then the whole program would
/// not link.
#[cfg(feature = "openmp")]
fn link_trial(compiler: &cc::Tool) -> Result<(), String> {
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let source = out.join("trial.c");
    std::fs::write(&source, "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
        .map_err(|e| format!("cannot write the trial program: {e}"))?;
    let run = compiler.to_command().arg(&source).arg("-o").arg(out.join("trial")).output();
    match run {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(one_line(&format!("-fopenmp does not work: {}", String::from_utf8_lossy(&output.stderr)))),
        Err(e) => Err(one_line(&format!("no C compiler: {e}"))),
    }
}

/// Links the OpenMP library, after the archive that needs it. clang's library is often where only clang looks.
#[cfg(feature = "openmp")]
fn link_library(compiler: &cc::Tool) {
    if !compiler.is_like_clang() {
        println!("cargo:rustc-link-lib=gomp");
        return;
    }
    let asked = compiler.to_command().arg("-print-file-name=libomp.so").output();
    let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let path = std::path::PathBuf::from(text.unwrap_or_default());
    // If clang does not find the library either, it prints only the name.
    if let Some(directory) = path.parent().filter(|directory| directory.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", directory.display());
    }
    println!("cargo:rustc-link-lib=omp");
}

#[cfg(feature = "openmp")]
fn version(compiler: &cc::Tool) -> String {
    let output = std::process::Command::new(compiler.path()).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("a C compiler").trim().to_owned()
}

/// On one line, because cargo reads the output of build scripts by lines.
#[cfg(feature = "openmp")]
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect::<Vec<_>>().join(" ")
}
