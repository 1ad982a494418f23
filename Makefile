# The two commands a newcomer needs: make demo, make test.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz kill clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## Install into .venv, then run `oocdm demo`
	@$(BIN)/oocdm demo

test: $(VENV)/.installed-dev ## Install into .venv with the development tools, then run the whole gate
	@echo "== Format"
	@$(BIN)/python -m ruff format --check .
	@echo "== Lint"
	@$(BIN)/python -m ruff check .
	@echo "== Types"
	@$(BIN)/python -m mypy
	@echo "== Tests, docstrings, README and docs, examples"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal
	@echo "== All passed"

COUNT ?= # of mutations or kills
SEED ?= 0

fuzz: $(VENV)/.installed-dev ## Damage files and options (COUNT=20000) and see what becomes of them
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.fuzzing --count $(or $(COUNT),20000) --seed $(SEED) -o benchmarks/results/reliability/fuzz.json

kill: $(VENV)/.installed-dev ## Kill commands that write (COUNT=300), go on, and compare to the bit
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.kills --count $(or $(COUNT),300) --seed $(SEED) -o benchmarks/results/reliability/kills.json

clean: ## Remove .venv, caches and build output
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find oocdm tests docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

# Waiting for pip rather than python: a failed `python -m venv` leaves a python without pip.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed. If you have one: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# The stamps are older than their sources exactly when something must be installed again.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing oocdm into $(VENV) (once; a minute or more, PyTorch is large)"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing oocdm and its development tools into $(VENV) (once; a minute or more, PyTorch is large)"
	@$(PIP) install -c constraints.txt -e ".[dev]"
	@touch $(VENV)/.installed $@
