# Sets up a machine that has Rust, C tools, make and git, and then does the job:
#   make bench       measures hive beside its rivals (arguments for hive-bench: ARGS="--quick")
#   make test        runs all tests
#   make test-numa   runs the tests in Linux guests with several NUMA nodes, emulated if need be
#                    (ARGS="smt offline" for some of the guests)
# What is missing is installed if that is possible; else it is left out, with a line that says so.

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
	.ci/test-without-hwloc

test-numa: setup
	tests/numa/run $(ARGS)
