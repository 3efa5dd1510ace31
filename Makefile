# Everything a person does here; `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check rig serve docs lock clean

help: ## list these commands
	@awk -F':.*## ' '/^[a-z%-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.ready ## start the product on a throw-away store with a believable cluster (ARGS=--exit leaves after printing)
	$(BIN)/seedance demo $(ARGS)

test: check ## lint, types, floors and every test whose real parts are there
	$(BIN)/python -m pytest -n 2 -m "not rig and not browser"
	$(BIN)/python -m pytest -m "rig or browser"

check: $(VENV)/.ready ## lint, types and floors
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

rig: $(VENV)/.ready ## build the real parts for the end-to-end tests into a cache outside the checkout (20 minutes once)
	$(BIN)/python tests/rig/build.py

serve: $(VENV)/.ready ## run the server (ARGS="--kubeconfig FILE --data DIR")
	$(BIN)/seedance serve $(ARGS)

docs: $(VENV)/.ready ## write the generated reference anew
	$(BIN)/python scripts/reference.py

bench-%: $(VENV)/.ready ## measure one part: bench-cli, bench-report, bench-settle, bench-store (ARGS="…" as its --help says)
	$(BIN)/python benchmarks/$*.py $(ARGS)

lock: ## resolve the lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --quiet \
	  --extra server --group pyproject.toml:dev pyproject.toml -o requirements.lock

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
