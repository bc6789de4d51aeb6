# Sets up a machine that has Rust, C tools, make and git, and then does the job:
#   make bench       measures hive beside its rivals (arguments for hive-bench: ARGS="--quick")
#   make test        runs all tests
#   make check       does what a change to one file needs (FILE=hive/tasks/join.rs): CONTRIBUTING.md
#   make test-rayon  runs the test suites of rayon-core and rayon on the drop-in rayon-core (ARGS="--threads 1,2,4")
#   make test-stack  runs the test suites of spindle, gemm, faer and candle on hive
#                    (ARGS="--threads 1,2,4 --suite faer")
#   make test-thread-tree  runs those of thread-tree, matrixmultiply and ndarray on the drop-in thread-tree
#   make test-numa   runs the tests in Linux guests with several NUMA nodes, emulated if need be
#                    (ARGS="smt offline" for some of the guests)
#   make test-aarch64  builds the library's tests for Linux on aarch64 and runs them under emulation; long
#                    (ARGS="hive regions" for some of the programs)
# What is missing is installed if that is possible; else it is left out, with a line that says so.

CARGO ?= cargo
ARGS ?=

.PHONY: bench check test test-rayon test-stack test-thread-tree test-numa test-aarch64 setup
.DEFAULT_GOAL := test

setup:
	@.ci/setup

bench: setup
	$(CARGO) run --release --package hive-bench $$(.ci/features hive-bench) -- $(ARGS)

# As in the gate, which says why.
test: export CARGO_INCREMENTAL ?= 0
test: export CARGO_PROFILE_DEV_DEBUG ?= none
test: export CARGO := $(CARGO)
test: setup
	.ci/tests --workspace $$(.ci/features all)
	.ci/test-without-hwloc
	.ci/tests --manifest-path rayon-core/Cargo.toml --target-dir $${CARGO_TARGET_DIR:-target}/rayon-core
	.ci/tests --manifest-path spindle/Cargo.toml --target-dir $${CARGO_TARGET_DIR:-target}/spindle
	.ci/tests --manifest-path thread-tree/Cargo.toml --target-dir $${CARGO_TARGET_DIR:-target}/thread-tree

check:
	@.ci/check $(FILE)

test-rayon:
	tests/rayon/run $(ARGS)

test-stack:
	tests/stack/run $(ARGS)

test-thread-tree:
	tests/thread-tree/run $(ARGS)

test-numa: setup
	tests/numa/run $(ARGS)

test-aarch64:
	tests/aarch64/run $(ARGS)
