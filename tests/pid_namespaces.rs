//! A process that is the first of a PID namespace, as in a container: it has the number 1, whatever its parent's number
//! is.

#![cfg(target_os = "linux")]

mod common;

use common::process::in_own_process;
use common::{assert_hive_works, proc_threads, sorted, sys};
use hive::{Hive, Pin};

/// A hive that has all of these CPUs, which are the process's.
#[track_caller]
fn hive_of_all(cpus: &[usize]) -> Hive {
    let hive = Hive::builder().bees(cpus.len()).pin(Pin::Core).build().unwrap();
    let places: Vec<usize> = hive.places().iter().flatten().flat_map(|place| place.cpus().to_vec()).collect();
    assert_eq!(sorted(&places), cpus, "{}", hive.report());
    assert_hive_works(&hive, cpus.len());
    hive
}

/// Runs `part` with the CPUs of this process and a hive that has all of them.
fn with_all_cpus(test: &str, part: impl FnOnce(&[usize], &Hive)) {
    in_own_process(test, || {
        // Read from /proc, which still belongs to the parent in the namespace.
        let cpus = proc_threads::cpus(sys::tid());
        let hive = hive_of_all(&cpus);
        part(&cpus, &hive);
        assert_hive_works(&hive, cpus.len());
    });
}

#[test]
fn the_first_of_a_namespace_that_was_forked_has_all_cpus() {
    with_all_cpus("the_first_of_a_namespace_that_was_forked_has_all_cpus", |cpus, hive| {
        // The child has one thread, as the kernel requires for making such a namespace.
        sys::fork(|| {
            if let Err(error) = sys::new_process_namespace() {
                println!("skipped: no namespaces: {error}");
                return;
            }
            sys::fork(|| {
                assert_eq!(std::process::id(), 1);
                let _own = hive_of_all(cpus);
                assert!(hive.try_spmd(2, |_| ()).is_err());
                sys::fork(|| drop(hive_of_all(cpus))).join();
            })
            .join();
        })
        .join();
    });
}

/// By the system call itself, which does not run the C library's fork handlers.
#[test]
fn the_first_of_a_namespace_that_was_cloned_has_all_cpus() {
    with_all_cpus("the_first_of_a_namespace_that_was_cloned_has_all_cpus", |cpus, hive| {
        let cloned = sys::clone_into_namespace(|| {
            assert_eq!(std::process::id(), 1);
            let own = hive_of_all(cpus);
            // The child knows that the hive belongs to its parent.
            assert!(hive.try_spmd(2, |_| ()).unwrap_err().to_string().contains("forked"));
            // The same once more, one level deeper.
            sys::clone_into_namespace(|| {
                drop(hive_of_all(cpus));
                assert!(own.try_spmd(2, |_| ()).is_err());
            })
            .unwrap()
            .join();
            assert_hive_works(&own, cpus.len());
        });
        match cloned {
            Ok(child) => child.join(),
            Err(error) => println!("skipped: no namespaces: {error}"),
        }
    });
}
