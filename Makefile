# `make help` lists the targets. Everything is installed into .venv; nothing outside is touched,
# but for a browser that `make test` may have to install.

SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
GIVEN_PYTHON := $(filter command environment,$(origin PYTHON))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help run test test-all coverage mutants lint browser format bench gpu-check screenshots space \
	space-check image-check clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

run: $(VENV)/.runs ## Install what is needed and start the app on http://127.0.0.1:7860
	@$(PY) app.py

test: browser ## Check the code, and run all tests but the slow ones: minutes
	@$(MAKE) --no-print-directory lint & lint=$$!; \
	$(VENV)/bin/pytest -rs -m "not slow"; tests=$$?; \
	wait $$lint && exit $$tests

test-all: lint browser ## Check the code, and run every test
	@$(VENV)/bin/pytest -rs

coverage: browser ## Run every test, and say which lines none of them reaches
	@rm -rf .coverage*
	@$(VENV)/bin/coverage run -m pytest -rs
	@$(VENV)/bin/coverage combine --quiet && $(VENV)/bin/coverage report

mutants: browser ## Plant known bugs and say which no test notices: make mutants [ROOM=scoring/engine]
	@$(PY) -m tests.mutants $(ROOM)

lint: $(VENV)/.tests ## Check style and types
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check . && $(VENV)/bin/mypy

browser: $(VENV)/.tests
	@$(PY) tests/e2e/browser.py --install

format: $(VENV)/.tests ## Bring the code into its form
	@$(VENV)/bin/ruff check --fix . && $(VENV)/bin/ruff format .

bench: browser ## Measure start-up, the scorer, and the tabs against their bounds
	@$(PY) tests/bench/page.py
	@$(PY) tests/bench/scoring.py $(if $(PAIRS),--pairs $(PAIRS)) --per-subset 10
	@$(PY) tests/bench/browse.py
	@$(PY) tests/bench/load.py
	@$(PY) tests/bench/attacks.py

gpu-check: $(if $(GIVEN_PYTHON),,$(VENV)/.runs) ## Prove the scorer on the card at hand; DRY=1 on a CPU, PYTHON=python3 with what is installed, ARGS="--seconds 590"
	@$(if $(GIVEN_PYTHON),$(PYTHON),$(PY)) tests/gpu/check.py $(if $(DRY),--dry) $(ARGS)

screenshots: browser ## Write the README's pictures anew, from the demo pairs
	@$(PY) tests/e2e/readme_pictures.py

DRY_RUN := $(findstring n,$(firstword -$(MAKEFLAGS)))
space: ## Upload to a Space: make space REPO=org/name [HARDWARE=cpu-basic] [--dry-run]
	+@[ -x $(PY) ] || MAKEFLAGS= $(MAKE) --no-print-directory $(VENV)/.runs && \
	$(PY) -m tests.shipping.space "$(REPO)" $(if $(HARDWARE),--hardware $(HARDWARE)) $(if $(DRY_RUN),--dry-run)

space-check: $(VENV)/.runs ## Start in a new environment what `make space` would upload: minutes
	@$(PY) -m tests.shipping.clean_start space $(if $(HARDWARE),--hardware $(HARDWARE))

image-check: $(VENV)/.runs ## Execute each step of the Dockerfile without an engine: minutes
	@$(PY) -m tests.shipping.clean_start image

clean: ## Remove what was installed and cached here
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*

$(VENV)/.runs: requirements.txt
	@$(call install,requirements.txt)
	@touch $@

$(VENV)/.tests: requirements.txt requirements-dev.txt
	@$(call install,requirements-dev.txt)
	@touch $@ $(VENV)/.runs

define install
if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or newer is needed; none was found on the PATH."; exit 1; fi; \
[ -x $(PY) ] || $(PYTHON) -m venv $(VENV) || { \
	echo "$(PYTHON) cannot make a virtual environment; on Debian: apt install python3-venv"; exit 1; }; \
echo "Installing $(1) into $(VENV) (a few minutes the first time)…"; \
$(PY) -m pip install --quiet --disable-pip-version-check -r $(1) 2> $(VENV)/install.log || { \
	echo "The packages of $(1) could not be installed; is there a network? $$(grep -m1 ERROR $(VENV)/install.log) (all of it: $(VENV)/install.log)"; \
	exit 1; }
endef
