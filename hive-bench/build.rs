//! Compiles the rivals in C and C++, and the kernels' bodies in C, with the system's compilers. If that fails, a
//! warning says so and they are left out: a build never fails because a rival is missing.

/// The rivals in C++ behind `c/rival.hpp`.
const IN_CPP: [&str; 3] = ["tbb", "citor", "libfork"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=c");
    tell("openmp", cfg!(feature = "openmp"), rivals::openmp());
    println!("cargo:rustc-check-cfg=cfg(cpp_compiled)");
    let compiled = IN_CPP.map(|name| {
        let paths = format!("HIVE_BENCH_{}", name.to_uppercase());
        println!("cargo:rerun-if-env-changed={paths}");
        let (is_wanted, rival) = match name {
            "tbb" => (cfg!(feature = "tbb"), rivals::tbb()),
            // Their headers are wherever the user has put them.
            _ => match std::env::var(&paths) {
                Ok(headers) => (true, rivals::in_headers(name, &headers)),
                Err(_) => (false, Err(format!("built without {paths}=DIRECTORY, the path of its headers"))),
            },
        };
        tell(name, is_wanted, rival)
    });
    if compiled.contains(&true) {
        println!("cargo:rustc-cfg=cpp_compiled");
    }
}

/// Tells the program which compiler built a rival, or why there is none. Returns whether there is one.
fn tell(name: &str, is_wanted: bool, rival: Result<String, String>) -> bool {
    println!("cargo:rustc-check-cfg=cfg({name}_compiled)");
    match &rival {
        Ok(_) => println!("cargo:rustc-cfg={name}_compiled"),
        Err(reason) if is_wanted => println!("cargo:warning={name} is left out: {reason}"),
        Err(_) => (),
    }
    let (Ok(state) | Err(state)) = &rival;
    println!("cargo:rustc-env=HIVE_BENCH_BUILT_{}={state}", name.to_uppercase());
    rival.is_ok()
}

/// Each says which compiler built the rival, or why there is none.
#[cfg(not(feature = "compiled"))]
mod rivals {
    pub(crate) fn openmp() -> Result<String, String> {
        Err("built without the feature openmp".to_owned())
    }

    pub(crate) fn tbb() -> Result<String, String> {
        Err("built without the feature tbb".to_owned())
    }

    pub(crate) fn in_headers(_name: &str, _headers: &str) -> Result<String, String> {
        Err("built without the feature compiled".to_owned())
    }
}

/// Each says which compiler built the rival, or why there is none.
#[cfg(feature = "compiled")]
mod rivals {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::{env, fs};

    use cc::{Build, Tool};

    /// The files in `c/kernels`.
    const KERNELS: [&str; 8] = ["handing_out", "mandelbrot", "matmul", "nbody", "roots", "sparse", "stencil", "stream"];

    pub(crate) fn openmp() -> Result<String, String> {
        if !cfg!(feature = "openmp") {
            return Err("built without the feature openmp".to_owned());
        }
        let mut openmp = build();
        openmp.files(KERNELS.map(|name| format!("c/kernels/{name}.c")));
        openmp.flag("-fopenmp").file("c/openmp.c").file("c/constructs.c");
        let compiler = compiler(&openmp)?;
        // A compiler may accept `-fopenmp` without a library to link, and then the whole program would not link.
        link_trial(
            &compiler,
            "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n",
            "trial.c",
            "",
        )?;
        openmp.try_compile("hive_bench_openmp").map_err(|error| one_line(&format!("c: {error}")))?;
        link_openmp(&compiler);
        Ok(version(&compiler))
    }

    /// TBB where the system has it.
    pub(crate) fn tbb() -> Result<String, String> {
        if !cfg!(feature = "tbb") {
            return Err("built without the feature tbb".to_owned());
        }
        let tbb = build_cpp();
        link_trial(&compiler(&tbb)?, "int main() { return 0; }\n", "trial.cpp", "-ltbb")?;
        let version = compile_cpp(tbb, "tbb")?;
        println!("cargo:rustc-link-lib=tbb");
        Ok(version)
    }

    /// A rival that consists of headers.
    pub(crate) fn in_headers(name: &str, headers: &str) -> Result<String, String> {
        // cargo runs this in the package's directory.
        if !Path::new(headers).is_absolute() || !Path::new(headers).is_dir() {
            return Err(format!("{headers} is not the whole path of a directory"));
        }
        let mut rival = build_cpp();
        // Their warnings are not ours.
        rival.flag("-isystem").flag(headers);
        compile_cpp(rival, name)
    }

    /// The same optimization as rustc's release profile, and the instruction set that rustc was told, so that no
    /// runtime gets wider vectors than another.
    fn build() -> Build {
        let mut build = Build::new();
        if let Some(cpu) = rustc_cpu() {
            build.flag(format!("{}={cpu}", if is_x86() { "-march" } else { "-mcpu" }));
        }
        // A square root is an instruction, as in Rust, and does not set errno.
        build.opt_level(3).flag("-ffp-contract=off").flag("-fno-math-errno");
        build
    }

    fn build_cpp() -> Build {
        let mut build = build();
        build.cpp(true).std("c++20").flag("-pthread").define("NDEBUG", None).cargo_warnings(false);
        build
    }

    fn compile_cpp(mut rival: Build, name: &str) -> Result<String, String> {
        let file = format!("c/{name}.cpp");
        let compiler = compiler(&rival)?;
        let compiled = rival.file(&file).try_compile(&format!("hive_bench_{name}"));
        compiled.map(|()| version(&compiler)).map_err(|_| {
            // Once more, to see the first error.
            let output = compiler.to_command().arg("-fsyntax-only").arg(&file).output();
            let text = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
            let error = text.lines().find(|line| line.contains("error")).unwrap_or("it does not compile");
            one_line(&format!("{file}: {error}"))
        })
    }

    fn compiler(of: &Build) -> Result<Tool, String> {
        of.try_get_compiler().map_err(|error| one_line(&format!("no compiler: {error}")))
    }

    /// The CPU of `-C target-cpu`. The crate cc passes on target features, but not this option.
    fn rustc_cpu() -> Option<String> {
        let flags = env::var("CARGO_ENCODED_RUSTFLAGS").ok()?;
        let cpu = |flag: &str| {
            let option = ["--codegen=", "-C"].iter().find_map(|prefix| flag.strip_prefix(prefix)).unwrap_or(flag);
            option.strip_prefix("target-cpu=").map(str::to_owned)
        };
        flags.split('\x1f').filter_map(cpu).next_back()
    }

    fn is_x86() -> bool {
        env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch.starts_with("x86"))
    }

    /// Links a trial program, with this library.
    fn link_trial(compiler: &Tool, program: &str, file: &str, library: &str) -> Result<(), String> {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let source = out.join(file);
        fs::write(&source, program).map_err(|error| format!("cannot write the trial program: {error}"))?;
        let mut command = compiler.to_command();
        command.arg(&source).arg("-o").arg(out.join("trial"));
        if !library.is_empty() {
            command.arg(library);
        }
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(one_line(&format!("a trial does not link: {}", String::from_utf8_lossy(&output.stderr)))),
            Err(error) => Err(one_line(&format!("no compiler: {error}"))),
        }
    }

    /// Links the OpenMP library, after the archive that needs it. clang's library is often where only clang looks.
    fn link_openmp(compiler: &Tool) {
        if !compiler.is_like_clang() {
            println!("cargo:rustc-link-lib=gomp");
            return;
        }
        let asked = compiler.to_command().arg("-print-file-name=libomp.so").output();
        let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let path = PathBuf::from(text.unwrap_or_default());
        // If clang does not find the library either, it prints only the name.
        if let Some(directory) = path.parent().filter(|directory| directory.is_absolute()) {
            println!("cargo:rustc-link-search=native={}", directory.display());
        }
        println!("cargo:rustc-link-lib=omp");
    }

    fn version(compiler: &Tool) -> String {
        let output = Command::new(compiler.path()).arg("--version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.lines().next().unwrap_or("a compiler").trim().to_owned()
    }

    /// On one line, because cargo reads the output of build scripts by lines.
    fn one_line(text: &str) -> String {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect::<Vec<_>>().join(" ")
    }
}
