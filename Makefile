# Every target is one or two commands that also work by hand. Builds live in build/<preset> (CMakePresets.json).
.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(or $(PATH),/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)

SECONDS_EACH ?= 60
JOBS ?= $(shell nproc)
# Builds everything of a preset, unless a target below names less.
BUILD = cmake --preset $(1) && cmake --build build/$(1) --parallel $(JOBS)
CTEST = ctest --progress --parallel $(JOBS) --output-on-failure --test-dir build/$(1) --no-tests=error

.PHONY: help deps lint-deps build demo test e2e e2e-full cluster cluster-down bench bench-cluster lint check asan tsan fuzz docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install the Debian packages that are missing (deps/debian-packages.txt)
	@bash deps/install.sh build

lint-deps:
	@bash deps/install.sh build lint

build: deps ## build the release binary: build/release/muster
	$(call BUILD,release) --target muster

demo: deps ## run six gangs on an embedded cluster, over HTTP; print what happened and why
	$(call BUILD,dev) --target muster
	@bash sim/demo.sh

test: deps ## build and run every test that needs no Kubernetes
	$(call BUILD,dev)
	$(call CTEST,dev)

e2e: build ## run the tests against a real control plane (tests/e2e); needs Go 1.26
	@tests/e2e/run.sh

e2e-full: build ## the same with slow tests and older Kubernetes
	@MUSTER_E2E=full tests/e2e/run.sh

cluster: build ## start a real control plane with Muster; print how to use it
	@tests/e2e/cluster.sh up

cluster-down: ## stop it
	@tests/e2e/cluster.sh down

bench: deps ## run the benchmarks; see bench/README.md
	$(call BUILD,release) --target bench/all
	@bash bench/run.sh

bench-cluster: build ## compare with kube-scheduler alone and native gangs on real Kubernetes; needs Go 1.26
	@tests/e2e/bench/run.sh

lint: lint-deps ## run clang-format, clang-tidy, and clang's thread-safety analysis
	@.ci/lint

check: deps ## run the tests without progress lines: cmake --workflow --preset check
	cmake --workflow --preset check

asan: lint-deps ## run the tests with AddressSanitizer and UndefinedBehaviorSanitizer
	$(call BUILD,asan)
	$(call CTEST,asan)

tsan: deps ## run the tests with ThreadSanitizer
	$(call BUILD,tsan)
	$(call CTEST,tsan)

fuzz: lint-deps ## run every fuzz target for one minute (make fuzz SECONDS_EACH=600 for longer)
	$(call BUILD,asan)
	@SECONDS_EACH=$(SECONDS_EACH) .ci/fuzz

docs: ## build the documents as a site: build/site (deps/docs-requirements.txt)
	@bash deps/install.sh docs
	@bash deps/docs.sh

clean: ## remove every build folder
	rm -rf build
