//! The hive's protocols under loom: the files of `hive/protocol/` and `hive/loops/`, included as they are, with loom's
//! primitives in the place of `crate::sync`.
//!
//! The program lists and runs the models, and the mutants, which are broken variants of the protocol that the models
//! must reject. See `tests/models/README.md`.

#[allow(dead_code, unused_imports, reason = "the models use what they need")]
#[path = "../../../../hive/protocol/mod.rs"]
mod protocol;

mod checked_region;
mod checked_task;
mod data;
mod driver;
mod exploration;
mod failure;
mod hive;
#[allow(dead_code, reason = "whole, as in the library")]
mod loops;
mod models;
mod mutation;
#[path = "../../common/observe.rs"]
mod observe;
#[path = "../../../../hive/on_drop.rs"]
mod on_drop;
#[path = "../../common/region.rs"]
mod region;
mod stack_cache;
mod sync;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let passed = match arguments[..] {
        ["list"] => list(),
        ["model", name] => {
            models::run(name);
            true
        }
        ["models"] => driver::run_models(""),
        ["models", filter] => driver::run_models(filter),
        ["mutants"] => driver::run_mutants(""),
        ["mutants", filter] => driver::run_mutants(filter),
        _ => {
            eprintln!("usage: list | model NAME | models [PART_OF_NAME] | mutants [PART_OF_NAME]");
            false
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list() -> bool {
    models::all().iter().for_each(|model| println!("model   {:44} {}", model.name, model.description));
    mutation::all().iter().for_each(|mutant| println!("mutant  {:44} {}", mutant.name, mutant.description));
    true
}
