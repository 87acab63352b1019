# Thin: every target is one or two commands that also work by hand. Builds live in build/<preset> (CMakePresets.json).
.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(or $(PATH),/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)

SECONDS_EACH ?= 60
JOBS ?= $(shell nproc)
# What to build of a preset: everything, unless a target below says less.
BUILD = cmake --preset $(1) && cmake --build build/$(1) --parallel $(JOBS)
CTEST = ctest --progress --output-on-failure --test-dir build/$(1) --no-tests=error

.PHONY: help deps lint-deps build demo test e2e e2e-full cluster cluster-down bench bench-cluster lint check asan tsan fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install the Debian packages that are missing (deps/debian-packages.txt)
	@bash deps/install.sh build

lint-deps:
	@bash deps/install.sh build lint

build: deps ## the shipped binary: build/release/muster
	$(call BUILD,release) --target muster

demo: build ## six gangs on an embedded cluster, over HTTP, with a table of what happened
	@bash sim/demo.sh

test: deps ## build and run every test that needs no Kubernetes
	$(call BUILD,dev)
	$(call CTEST,dev)

e2e: build ## the tests against a real control plane (tests/e2e); needs Go 1.26
	@tests/e2e/run.sh

e2e-full: build ## the slow ones too, and older Kubernetes
	@MUSTER_E2E=full tests/e2e/run.sh

cluster: build ## a real control plane with Muster in it, left up; prints how to use it
	@tests/e2e/cluster.sh up

cluster-down: ## end it
	@tests/e2e/cluster.sh down

bench: deps ## measure; see bench/README.md
	$(call BUILD,release) --target bench/all
	@bash bench/run.sh

bench-cluster: build ## starts of gangs on real Kubernetes, beside kube-scheduler alone and native gangs; needs Go 1.26
	@tests/e2e/bench/run.sh

lint: lint-deps ## clang-format, clang-tidy, and clang's proof of the locking
	@.ci/lint

check: deps ## the tests without progress lines: cmake --workflow --preset check
	cmake --workflow --preset check

asan: lint-deps ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call BUILD,asan)
	$(call CTEST,asan)

tsan: deps ## the tests under ThreadSanitizer
	$(call BUILD,tsan)
	$(call CTEST,tsan)

fuzz: lint-deps ## every fuzz target for one minute (make fuzz SECONDS_EACH=600 for longer)
	$(call BUILD,asan)
	@SECONDS_EACH=$(SECONDS_EACH) .ci/fuzz

clean: ## remove every build folder
	rm -rf build
