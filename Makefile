# Every target does the set-up it needs (Debian 12 packages through scripts/setup.sh, the web page through scripts/page.sh).
#
#   make build              build/weft                          make bench     benchmarks (bench/)
#   make bench-packet       speed of the packet model
#   make run [SITE=lab-32]  a site in the twin, with its page    make fuzz      FUZZ_SECONDS=120 a target
#   make test               every fast test                     make soak      long clean runs: no false alarm
#   make validate           the planner against measured rows
#   make scenarios          every fault, judged (SEEDS=5)        make format    clang-format in place
#   make check-all          what a release needs: slow tests, sanitizers, fuzzing, a clean virtual day
#
# JOBS=n limits parallel work; WEFT_SKIP_SETUP=1 installs nothing; WEFT_NO_PAGE=1 builds without the web page.
SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

SITE ?= lab-32
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 120
CHECK_FUZZ_SECONDS ?= 20
SOAK_SEEDS ?= 5
SEEDS ?= 5
CTEST = ctest --output-on-failure --no-tests=error --no-label-summary -j $(JOBS)
# ccache and mold only save time; used when they are there.
CONFIGURE = cmake -G Ninja -S . $(shell command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) \
  $(shell command -v mold >/dev/null && echo -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold) --log-level=WARNING
SOURCES = git ls-files -co --exclude-standard -- '*.cc' '*.h' | grep -E '^(src|tests|bench|fuzz)/'

.PHONY: validate test-page build run test slow bench fuzz bench-packet soak clean-day scenarios check-all sanitize-address sanitize-thread format format-check tidy clean setup page configure

setup:
	@scripts/setup.sh build

page: setup
	@scripts/page.sh

configure: page
	@$(CONFIGURE) -B build

build: configure
	@cmake --build build -j $(JOBS) --target weft

run: build
	@build/weft up $(SITE) $(ARGS)

# The whole program and every test; the last lines are ctest's summary.
test: configure
	@cmake --build build -j $(JOBS)
	@cd build && $(CTEST) -L fast

slow: configure
	@cmake --build build -j $(JOBS)
	@cd build && if ctest -N -L slow | grep -q 'Total Tests: 0'; then echo "no slow tests"; else $(CTEST) -L slow; fi

# Every measured row predicted, errors per source (docs/plan.md).
validate: build
	@build/weft plan validate data/measured/training-measured.csv $(ARGS)

bench: page
	@scripts/setup.sh bench
	@$(CONFIGURE) -B build
	@cmake --build build -j $(JOBS) --target weft_bench
	@build/weft_bench --benchmark_repetitions=3 --benchmark_report_aggregates_only=true $(ARGS)

# X M packet-hops/s of the packet model at 128, 1,024 and 8,192 hosts: make bench-packet [THREADS=1 RUNS=3]
bench-packet: page
	@$(CONFIGURE) -B build
	@cmake --build build -j $(JOBS) --target weft_packet_speed
	@build/weft_packet_speed $(or $(THREADS),1) $(or $(RUNS),3)

fuzz:
	@scripts/setup.sh fuzz
	@cmake -G Ninja -S . -B build-fuzz -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_ASM_COMPILER=clang-19 -DWEFT_FUZZ=ON \
	  $(shell command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) --log-level=WARNING
	@cmake --build build-fuzz -j $(JOBS)
	@scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS) $(TARGETS)

# 30 virtual days without a fault, over seeds and sites: any isolation or incident fails it.
soak: build
	@build/weft scenario run scenarios/soak/lab-32.yaml --seeds $(SOAK_SEEDS) $(ARGS)
	@build/weft scenario run scenarios/soak/pod-144.yaml --seeds $(SOAK_SEEDS) $(ARGS)

# A virtual day at one sample a second without a fault.
clean-day: build
	@build/weft scenario run scenarios/soak/lab-32-1s.yaml

# Every fault of the catalogue, judged; a row per scenario and seed.
scenarios: build
	@build/weft scenario run scenarios/ --seeds $(SEEDS) $(ARGS)

# The page in a real browser: headless Chromium against a running twin.
test-page: build
	@scripts/setup.sh browser
	@cd web && npm ci --no-fund --no-audit --silent && node --test test/

sanitize-address: page
	@$(CONFIGURE) -B build-address -DWEFT_SANITIZE=address,undefined
	@cmake --build build-address -j $(JOBS)
	@cd build-address && $(CTEST) -L fast

sanitize-thread: page
	@$(CONFIGURE) -B build-thread -DWEFT_SANITIZE=thread
	@cmake --build build-thread -j $(JOBS)
	@cd build-thread && $(CTEST) -L fast

check-all:
	@scripts/setup.sh build bench fuzz check
	@$(MAKE) test
	@$(MAKE) slow
	@$(MAKE) clean-day
	@$(MAKE) test-page
	@$(MAKE) sanitize-address
	@$(MAKE) sanitize-thread
	@$(MAKE) fuzz FUZZ_SECONDS=$(CHECK_FUZZ_SECONDS)
	@$(MAKE) format-check
	@echo "check-all: all passed"

format:
	@scripts/setup.sh check
	@$(SOURCES) | xargs clang-format -i

format-check:
	@scripts/setup.sh check
	@$(SOURCES) | xargs clang-format --dry-run -Werror

tidy: configure
	@scripts/setup.sh tidy
	@$(SOURCES) | grep '^src/.*\.cc$$' | xargs -P $(JOBS) -n 4 clang-tidy-19 -p build --quiet --extra-arg=-Wno-unknown-warning-option

clean:
	rm -rf build build-address build-thread build-fuzz web/dist
