# Every target first installs what it lacks (Debian 12, as root) and is quick when nothing is.
.DEFAULT_GOAL := help
.PHONY: help deps deps-dev build install packages packages-test demo test clang aarch64 docs bench \
  papers papers-fcae papers-fast20 grid lint format formal flips soak sanitize mariadb cluster leveldb-suite leveldb-plugin-suite coverage synth clean
JOBS ?= $(shell nproc)
PRESET ?= release

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install what building and testing need
	@scripts/deps

deps-dev: ## and what linting and synthesis need
	@scripts/deps dev

build: deps ## build everything into build/release
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build --preset $(PRESET) -j $(JOBS)

PREFIX ?= /usr/local
DEVICE ?= OFF
install: ## install the library into PREFIX; with DEVICE=ON also the units and the command
	@scripts/deps $(if $(filter ON,$(DEVICE)),,engine)
	@cmake -S . -B build/install -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) -DSLUICE_BUILD_DEVICE=$(DEVICE) \
	  -DSLUICE_BUILD_TOOLS=$(DEVICE) -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=OFF
	@cmake --build build/install -j $(JOBS)
	@cmake --install build/install

packages: ## build the Debian packages, into build/packages
	@scripts/deps packages
	@plugin/mariadb/fetch
	@rm -f build/packages/*.deb
	@cmake --preset packages --log-level=WARNING >/dev/null
	@cmake --build --preset packages -j $(JOBS)
	@cd build/packages && cpack >cpack.log || { cat cpack.log >&2; exit 1; }
	@ls build/packages/*.deb

packages-test: packages ## check the packages, and use them on a Debian where nothing else is (as root)
	@tests/packages/clean_system.sh build/packages

demo: deps ## run the engine on real input, its compactions on the unit in simulation
	@scripts/demo

test: build ## build and run every test
	@SLUICE_SEED=$$(scripts/seed) && export SLUICE_SEED && echo "SLUICE_SEED=$$SLUICE_SEED" && \
	  ctest --test-dir build/$(PRESET) -j $(JOBS) --output-on-failure --no-tests=error \
	  --output-junit ctest.xml

docs: ## the public headers as pages, in build/docs/html; a gap in them is an error
	@scripts/deps docs
	@mkdir -p build/docs
	@doxygen docs/Doxyfile

clang: ## build the engine with Clang, and run its tests
	@scripts/deps clang
	@scripts/engine_tests clang $(JOBS) util table log write txn mem cache merge tree compaction db

aarch64: ## build the engine for 64-bit ARM, and run some of its tests in QEMU
	@scripts/deps aarch64
	@scripts/arm64_root
	@scripts/engine_tests aarch64 $(JOBS) util table log merge db

.PHONY: ha_sluice
ha_sluice:
	@scripts/deps mariadb
	@plugin/mariadb/fetch
	@cmake --preset sql --log-level=WARNING
	@cmake --build --preset sql -j $(JOBS) --target ha_sluice

mariadb: ha_sluice ## build the storage engine for MariaDB, and start a server with it
	@plugin/mariadb/server restart build/sql/server
	@echo "MariaDB $$(cat build/mariadb/version) runs. A client of it:"
	@echo "  plugin/mariadb/server client build/sql/server"

cluster: ha_sluice ## load a cluster of MariaDB servers with it, and kill some of them
	@plugin/mariadb/fetch benchmark
	@plugin/mariadb/tests/cluster_test.py --seconds 20 --rounds 3

bench: ## build and run the benchmarks
	@bench/fetch_rocksdb || echo "No RocksDB to compare with"
	@$(MAKE) --no-print-directory build
	@cmake --build --preset $(PRESET) -j $(JOBS) --target bench

papers: build ## measure FCAE's and FAST'20's figures with DATA GB (0.4), and write docs/papers.md
	@python3 bench/papers $(FIGURES) --data $(or $(DATA),0.4) --build build/$(PRESET) --page docs/papers.md

papers-fcae papers-fast20: papers-%:
	@$(MAKE) --no-print-directory papers FIGURES=$*

grid: deps ## measure the unit in every shape, and write docs/grid.md
	@scripts/grid

lint: deps-dev ## formatting, static checks of C++ and RTL, layers, tidiness
	@scripts/lint

format: deps-dev ## put the C++ sources in their format
	@git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' | xargs -0 clang-format-14 -i

formal: deps-dev ## prove properties of the RTL
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target generated_files
	@build/venv/bin/python hw/formal/run.py

MINUTES ?= 60
soak: build ## run the random tests and campaigns for MINUTES or ROUNDS, with fresh seeds
	@scripts/soak $(MINUTES) $(if $(ROUNDS),--rounds $(ROUNDS)) -j $(JOBS)

sanitize: deps ## run the engine's tests with sanitizers, ROUNDS times, with fresh seeds
	@scripts/sanitize $(or $(ROUNDS),1) $(JOBS)

# With compactions on the CPU, then on the simulated unit and the CPU, compared.
leveldb-suite: deps ## run LevelDB's own tests over the engine
	@scripts/deps leveldb-suite
	@tests/leveldb_suite/fetch
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build --preset $(PRESET) -j $(JOBS) --target leveldb_suite_programs
	@for executor in cpu check; do \
	  tests/leveldb_suite/run.py build/$(PRESET)/tests/leveldb_suite build/leveldb/src \
	    -j $(JOBS) --executor $$executor || exit 1; \
	done

leveldb-plugin-suite: deps ## run LevelDB's own tests and plyvel's over LevelDB, with its compactions done by Sluice
	@scripts/deps leveldb-suite
	@tests/leveldb_suite/fetch
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build --preset $(PRESET) -j $(JOBS) --target leveldb_plugin_programs
	@build/$(PRESET)/tests/leveldb_plugin/suite/layout_test
	@for run in linked:cpu patched:cpu linked:faulty:30; do \
	  SLUICE_EXECUTOR_LIBRARY=$$(case $$run in *faulty*) echo $(CURDIR)/build/$(PRESET)/tests/leveldb_plugin/libfaulty_units.so;; esac) \
	    tests/leveldb_suite/run.py build/$(PRESET)/tests/leveldb_plugin/suite/$${run%%:*} build/leveldb/src -j $(JOBS) \
	    --expectations tests/leveldb_plugin/suite/tests.txt --executor $${run#*:} || exit 1; \
	done
	@tests/leveldb_plugin/suite/plyvel build/$(PRESET)/plugin/leveldb/sluice-leveldb

flips: build ## invert bits of the unit's registers, and see what becomes of it
	@cmake --build --preset $(PRESET) -j $(JOBS) --target flips

# Tests whose models count; with one seed, so that what they hit is the same each time.
COVERAGE_TESTS = unit_tiny_test unit_fast20_test read_path_v8_w64_test
COVERAGE_SEED ?= 1
coverage: deps ## functional coverage of the RTL by random tests, as a table
	@cmake --preset coverage --log-level=WARNING
	@cmake --build --preset coverage -j $(JOBS) --target $(COVERAGE_TESTS)
	@rm -rf build/coverage/counts && mkdir build/coverage/counts
	@SLUICE_SEED=$(COVERAGE_SEED) SLUICE_COVERAGE_DIR=$(CURDIR)/build/coverage/counts \
	  ctest --test-dir build/coverage -j $(JOBS) --output-on-failure --no-tests=error -R '^($(subst $(eval ) ,|,$(COVERAGE_TESTS)))$$'
	@hw/dv/coverage/report.py build/coverage/counts

synth: deps-dev ## synthesise the named configurations and write docs/synthesis.md
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target generated_files
	@nice build/venv/bin/python hw/syn/synth.py -j $(JOBS) --report docs/synthesis.md

clean: ## remove what was built; what was fetched stays
	@find build -mindepth 1 -maxdepth 1 ! -name venv ! -name rocksdb ! -name leveldb ! -name mariadb -exec rm -rf {} +
