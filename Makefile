# The two commands of the README: `make study` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: install study test slow lint format lock clean

install: $(INSTALLED)

$(INSTALLED): requirements.lock pyproject.toml setup.py $(wildcard src/semfocus/mechanisms/kernels/source/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

study: install ## train full and top_k(5) on a small task and compare the curves
	$(BIN)/semfocus study quick

test: install lint ## linter, formatter, type checker, tests (a few minutes)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

slow: install ## tests that train real models
	$(BIN)/python -m pytest -m slow

format: install
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: install ## write the versions that are installed now
	(echo "# Exact versions that the Makefile and CI install; made with \`make lock\`."; \
	 $(BIN)/python -m pip list --format=freeze --exclude pip --exclude-editable | sed 's/+cpu$$//') > requirements.lock

clean:
	rm -rf $(VENV) build dist src/*.egg-info
