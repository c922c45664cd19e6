.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv run test lint types imports check bench load torture truth docs screenshots fuzz audit migration lock format clean

# The interpreter that .venv is made with; empty means the first one that is new enough.
PYTHON ?=
# More arguments for the tests, as in `make test ARGS="-k formula"`, or for
# other commands, as in `make run ARGS="--port 9000"` and `make lock ARGS=--upgrade`.
ARGS ?=

BIN := .venv/bin
READY := .venv/.ready

# Many small products are faster on one thread, and the tests already use every core.
export OPENBLAS_NUM_THREADS := 1

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## Build .venv from the lock files, where it is not up to date

run: $(READY) ## Serve the demo on http://localhost:8000; its data is kept in .demo
	GRADER_DATA_FOLDER=.demo $(BIN)/grader serve --demo $(ARGS)

# Where the environment forbids to keep what Python compiles, each worker and each command that a test
# starts would compile everything again.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(READY) ## Run the tests, for which Chromium, strace and wrk are installed where they can be
	@sh tools/programs.sh chromium strace wrk
	$(BIN)/pytest $(ARGS)

lint: $(READY) ## Look for mistakes and for unformatted code
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY) ## Check the types
	$(BIN)/mypy

imports: $(READY) ## Check that imports go downwards only
	$(BIN)/lint-imports --no-logo

check: lint types imports test ## Run everything that CI runs

bench: $(READY) ## Measure the speed of grading and of pages
	$(BIN)/python -m bench $(ARGS)

load: $(READY) ## Put the service under HTTP load, and compare it with the barest durable endpoint
	@sh tools/programs.sh wrk
	$(BIN)/python -m bench.load $(ARGS)

# Half the time of a cycle is that of starting the service.
torture: export PYTHONDONTWRITEBYTECODE :=
torture: $(READY) ## Try the promises about grades, as in make torture ARGS="kills --cycles 1000"
	@sh tools/programs.sh strace
	$(BIN)/python -m bench.torture $(ARGS)

truth: $(READY) ## Judge model answers on 200 variants, and 1,000 queries as numbers and as formulas
	$(BIN)/python -m tools.truth $(ARGS)

docs: $(READY) ## Bring the outputs, tables and pictures in the documentation up to date
	$(BIN)/python -m tests.docs.refresh

screenshots: $(READY) ## Take the pictures of the main pages in docs/pictures anew
	@sh tools/programs.sh chromium
	$(BIN)/python -m tests.docs.screenshots

fuzz: $(READY) ## Send mutated requests to real servers, and look at what comes back
	$(BIN)/python -m bench.fuzz $(ARGS)

# Without a network, or behind a mirror that knows no advisories: make audit ARGS=--offline
audit: $(READY) ## Check the dependencies: hashes, licences, known advisories
	$(BIN)/python -m tools.audit $(ARGS)

migration: $(READY) ## Write a migration from the tables, as in make migration ARGS="keep drafts"
	$(BIN)/python tools/migration.py $(ARGS)

format: $(READY) ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

# Three files, because they are installed at three moments: uv alone by pip, what a server runs, and what a
# developer has. The last repeats the second under its constraint, so that tests run on what a server runs.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: export UV_SYSTEM_CERTS ?= 1
lock: $(READY) ## Resolve the dependencies anew and write the lock files
	$(COMPILE) $(ARGS) --group bootstrap --output-file requirements-bootstrap.lock
	$(COMPILE) $(ARGS) pyproject.toml --output-file requirements.lock
	$(COMPILE) $(ARGS) pyproject.toml --extra dev --group build --constraints requirements.lock \
		--output-file requirements-dev.lock

clean: ## Remove .venv, the demo's data and everything else that is made from the sources
	rm -rf .venv .demo build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find grader tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): tools/bootstrap.sh pyproject.toml grader/__init__.py requirements-bootstrap.lock requirements-dev.lock
	@PYTHON="$(PYTHON)" sh tools/bootstrap.sh
	@touch $@
