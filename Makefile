# The two commands of the README: `make study` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: install study learn test quicktest portable torture torture-long mutants emulate slow bench sanitize older packages lint format lock clean

install: $(INSTALLED)

$(INSTALLED): requirements.lock pyproject.toml setup.py $(wildcard src/semfocus/kernels/cpu/source/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

study: install ## five kinds of attention over eight seeds on a small task, a table and a report (minutes)
	$(BIN)/semfocus study quick

learn: install ## the pictures of docs/learn.md, and the numbers it quotes (a minute)
	$(BIN)/python examples/learn/all.py

test: install lint ## linter, formatter, type checker, tests (a few minutes)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

quicktest: install ## the linter, a core of the tests, and those that your changes touch (about a minute)
	$(BIN)/ruff check
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $$($(BIN)/python tests/quick.py)

portable: install ## the tests as other machines would see them, in the background (half an hour; again: how far it is)
	$(BIN)/python tests/portable.py

torture: install ## faults at every operation on files, and loss of power, as one table (again: it continues)
	$(BIN)/python -m tests.faults.torture

torture-long: install ## the same in hours: all cases, and more of them
	$(BIN)/python -m tests.faults.torture --long

mutants: install ## deliberate defects, one by one: which test catches each (again: it continues; half an hour)
	$(BIN)/python -m tests.mutants.campaign

# Debian: apt install qemu-user g++-aarch64-linux-gnu
emulate: install ## the kernels' self-test here, on emulated processors and compiled for aarch64 (minutes)
	$(BIN)/python -m tests.kernels.emulation.processors

slow: install ## tests that train real models
	$(BIN)/python -m pytest -m slow

BENCHMARKS := attention_speed masked_speed memory training_step fused_block epoch listops_sampling same_epoch pool lipschitz_looseness probes landscape report_time trial_verdict hugging_face_speed

# A missed claim is printed; a script that fails does not stop the others, but fails the target.
bench: install ## one script per claim about speed and memory (half an hour; nothing else should run meanwhile)
	failed=0; \
	for each in $(BENCHMARKS); do echo "== benchmarks/$$each.py"; $(BIN)/python benchmarks/$$each.py || failed=1; done; \
	$(BIN)/python benchmarks/plot.py || failed=1; \
	exit $$failed

# Leaks are not looked for: Python keeps what it has until it ends.
sanitize: install ## the kernel tests on a build with AddressSanitizer and UndefinedBehaviorSanitizer
	mkdir -p build
	g++ -g -O1 -std=gnu++17 -ffp-contract=fast -fopenmp -fPIC -shared -Wno-psabi -fno-sanitize-recover=undefined \
	  -fsanitize=address,undefined src/semfocus/kernels/cpu/source/kernels.cpp -o build/sanitized.so
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  SEMFOCUS_KERNELS=build/sanitized.so $(BIN)/python -m pytest -q tests/kernels/test_native.py tests/kernels/test_passes.py tests/model/test_fused_block.py

OLDER := tests/integrations/test_hugging_face.py tests/integrations/test_check.py tests/integrations/test_partial_hugging_face.py tests/integrations/test_causality.py

older: install ## the tests of Hugging Face models with the oldest transformers that is promised (minutes)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --upgrade --target build/older transformers==5.21.1
	PYTHONPATH=build/older $(BIN)/python -m pytest -q $(OLDER)

packages: ## build the sdist and the wheel, install them as users would, run what they installed (15 minutes)
	$(PYTHON) .ci/packages

format: install
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: install ## write the versions that are installed now
	(echo "# Exact versions that the Makefile and CI install; made with \`make lock\`."; \
	 $(BIN)/python -m pip list --format=freeze --exclude pip --exclude-editable | sed 's/+cpu$$//') > requirements.lock

clean:
	rm -rf $(VENV) build dist src/*.egg-info
