# Everything a contributor runs. `make` alone lists it.
PYTHON ?= python3
JOBS ?= 2
# Processes that run tests: one more than cores, because some tests wait for what sleeps.
TESTERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help venv demo test quick nightly gpu lint docs pictures format bench release-check clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# torch first and pinned: left to itself, pip takes a build with gigabytes of CUDA packages. Compiled afterwards, on all
# cores: pip takes one. Some packages hold files that no Python can compile.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m compileall -qq -j 0 .venv/lib || true
	touch $@

venv: $(STAMP) ## .venv with the pinned versions of everything

demo: venv ## grade the small class in examples/class (exit code 1, students who fail, is expected)
	$(BIN)/grader grade examples/class --out demo-out --jobs $(JOBS) --seed 0 || [ $$? -eq 1 ]
	$(BIN)/grader report --out demo-out

lint: venv ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint ## style, types and all tests
	$(BIN)/python -m pytest -q -n $(TESTERS) tests

nightly: lint ## the tests that `make test` leaves out: more of kinds of which it has two or three
	$(BIN)/python -m pytest -q -n $(TESTERS) -m nightly tests

# Beside the torch that PYTHON has; the venv of the other commands has one without CUDA.
gpu: ## on a machine with an NVIDIA GPU: its tests, answers on real and on simulated devices, times
	$(PYTHON) tests/gpu/rehearse.py

quick: lint ## style, types and the tests that are not slow: for every change, before `make test`
	$(BIN)/python -m pytest -q -n $(JOBS) -m "not slow and not nightly" tests

# The variable silences the theme's notice of its end of life (May 2027): it says nothing about this build.
docs: venv ## the documentation as a site, in site/; a broken link or an undocumented public name fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

pictures: venv ## the pictures of the documentation, made again; needs Chromium
	$(BIN)/python docs/make_pictures.py

format: venv ## put the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: venv ## measured comparisons, printed, never asserted
	for file in benchmarks/*.py; do $(BIN)/python "$$file" || exit 1; done
	$(BIN)/python benchmarks/throughput.py --peers 200

release-check: venv ## rehearse a release: build and check it, and run the quick tests against the installed wheel
	$(BIN)/python tests/packaging/rehearse.py

clean: ## remove what the commands above made (the venv too)
	rm -rf .venv .venv-gpu demo-out site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
