# Everything a stranger needs: `make demo` and `make test` install what is missing and do the rest.
# The build itself is CMake's; see CMakeLists.txt.
BUILD ?= build
PREFIX ?= /usr/local
OUT ?= out/fashion-mnist
SEED ?= 1
SECONDS ?= 300
JOBS ?= $(shell nproc)
export BUILD JOBS
export CMAKE_GENERATOR ?= Ninja
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)

.PHONY: help build demo test test-deep test-cuda test-all hostile lint bench bench-detection wheel wheel-aarch64 notebook dist deb format install clean packages

help:
	@echo 'make demo      look for wrong labels in Fashion-MNIST (60,000 pictures)'
	@echo 'make build     the command, $(BUILD)/cli/rer, and the library'
	@echo 'make install   into PREFIX ($(PREFIX))'
	@echo 'make test      the tests, a few minutes; RER_DATA=DIR: those too that need more data'
	@echo 'make test-deep again under sanitizers, short fuzzing, format and lint'
	@echo 'make test-cuda what needs a CUDA card'
	@echo 'make test-all  both, and the slow tests: detection bars, speed, packages, make hostile, longer fuzzing, valgrind'
	@echo 'make hostile   damaged inputs, kills and injected faults: SEED=$(SEED) SECONDS=$(SECONDS); a table of what came of it'
	@echo 'make bench     speed and memory beside what users would run instead'
	@echo 'make bench-detection  which detector finds the wrong labels: the tables of docs/detection.md (half an hour)'
	@echo 'make wheel     the Python package as a wheel (manylinux) and as sources, in $(BUILD)/wheel'
	@echo 'make wheel-aarch64  the same for Linux on aarch64, cross-compiled on Debian and tried in qemu'
	@echo 'make notebook  runs examples/find_mistakes.ipynb and keeps what it shows'
	@echo 'make dist      the sources as a tarball, in $(BUILD)/dist: the same bytes each time'
	@echo 'make deb       Debian packages of it, in $(BUILD)/deb'
	@echo 'make lint      form of the sources, and who includes whom'
	@echo 'make format    bring the sources into the form that .clang-format says'
	@echo 'make clean     remove $(BUILD) and out'
	@echo 'demo, build, install and the tests first install Debian packages that are missing (scripts/packages.txt).'

build: packages $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target rer rer_command -- --quiet

packages:
	@scripts/install-packages.sh build

# Only once, so that a build with tests keeps them; afterwards the build itself looks for changes.
$(BUILD)/build.ninja: | packages
	@cmake -S . -B $(BUILD) -DRER_TESTS=OFF --log-level=WARNING

demo: build
	@scripts/install-packages.sh demo
	@scripts/demo.sh $(BUILD)/cli/rer $(OUT)

test:
	@scripts/test.sh test

test-deep:
	@scripts/test.sh deep

test-cuda:
	@scripts/test_cuda.sh

test-all:
	@scripts/test.sh test deep slow

hostile:
	@scripts/install-packages.sh build test
	@scripts/venv.sh $(BUILD)/venv scripts/requirements-test.txt
	@scripts/hostile.sh $(BUILD) $(SEED) $(SECONDS)

bench:
	@scripts/install-packages.sh build test
	@scripts/venv.sh $(BUILD)/venv-bench scripts/requirements-bench.txt
	@BUILD=$(BUILD)/bench PYTHON=$(abspath $(BUILD))/venv-bench/bin/python bench/run.sh

wheel:
	@scripts/install-packages.sh build test
	@scripts/venv.sh $(BUILD)/venv-package scripts/requirements-package.txt
	@scripts/wheel.sh $(abspath $(BUILD))/venv-package/bin/python $(abspath $(BUILD)) $(abspath $(BUILD))/wheel

wheel-aarch64:
	@scripts/install-packages.sh build test aarch64
	@tests/python/install.sh $(abspath $(BUILD))/venv-package $(abspath $(BUILD))
	@tests/python/aarch64.sh $(abspath $(BUILD))/venv-package $(abspath $(BUILD))

notebook:
	@scripts/install-packages.sh build test
	@tests/python/install.sh $(abspath $(BUILD))/venv-package $(abspath $(BUILD))
	@$(BUILD)/venv-package/bin/python scripts/notebook.py

dist:
	@scripts/dist.sh $(BUILD)/dist

deb:
	@scripts/install-packages.sh build deb
	@scripts/deb.sh $(BUILD)/deb

bench-detection: build
	@python3 bench/detection_table.py --rer $(BUILD)/cli/rer
	@scripts/install-packages.sh demo
	@scripts/venv.sh $(BUILD)/venv-bench scripts/requirements-bench.txt
	@$(BUILD)/venv-bench/bin/python bench/natural.py --rer $(BUILD)/cli/rer

lint:
	@scripts/install-packages.sh test-deep
	@scripts/check_includes.py
	@scripts/lint.sh format
	@scripts/lint.sh shell

format:
	@scripts/install-packages.sh test-deep
	@scripts/sources.sh | xargs clang-format -i

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf $(BUILD) out
