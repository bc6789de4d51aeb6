# Does all the set-up on a machine with Rust, C tools, make and git, then the job:
#   make bench   measures hive beside its rivals (arguments for hive-bench: ARGS="--quick")
#   make test    runs every test
#   make test-numa   runs the tests in Linux guests with several NUMA nodes, emulated if need be (ARGS="smt offline" for some of them; NUMA_VM is where numa-vm is)
# What is missing and can be had is installed; what cannot be had is left out, with a line that says so.

CARGO ?= cargo
ARGS ?=

.PHONY: bench test test-numa setup
.DEFAULT_GOAL := test

setup:
	@.ci/setup

bench: setup
	$(CARGO) run --release --package hive-bench $$(.ci/features hive-bench) -- $(ARGS)

test: setup
	$(CARGO) test --workspace $$(.ci/features all)
	.ci/flat-test

test-numa: setup
	tests/numa/run $(ARGS)
