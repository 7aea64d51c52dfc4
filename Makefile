# make demo, make test: from a fresh checkout, all set-up included. The rest is for those who work on perflab.
PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test check fix fence system course gpu evidence simulate clean

help:
	@echo "make demo   grade a small class of sample submissions and write the class page to demo/"
	@echo "make test   check the code and run every test that this machine can run"
	@echo "make check  ruff, format, types, layers: changes nothing     make fix  mends what can be mended"
	@echo "make course prove every lab whole                            make evidence  run the reference again"
	@echo "make simulate  write docs/measurements/decision-rule.md again: how often the decision rule errs"
	@echo "make gpu    on a machine with a GPU: its tests, calibration of every lab, the reference's figures"

.venv/ready: requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "perflab: no $(PYTHON); install Python 3.11 or newer"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "perflab: $(PYTHON) is older than 3.11; make PYTHON=python3.11 ..."; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "perflab: installing python3-venv (Debian package), which makes virtual environments"; \
	    apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null; \
	  else echo "perflab: install the package python3-venv first: sudo apt-get install python3-venv"; exit 2; fi; }
	@echo "perflab: setting up .venv (torch is large: about 6 GB, a few minutes)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch .venv/ready

demo: .venv/ready fence
	@rm -rf demo && mkdir -p demo
	@$(BIN)/python tests/make_demo.py demo/handed_in
	@fence=bubblewrap; $(BIN)/perflab doctor | grep -q '^ok *the sandbox' || { fence=none; \
	  echo "perflab: no sandbox here (perflab doctor says why); the sample submissions are ours, so they run with --isolation none"; }; \
	$(BIN)/perflab grade resnet18 demo/handed_in/resnet18 --part part3 --out demo/results --isolation $$fence && \
	echo "perflab: now a speed bar, judged by the clock outside: first the machine is examined, which takes about a minute" && \
	$(BIN)/perflab grade foundations demo/handed_in/foundations --only vectorized_is_faster --out demo/speed --isolation $$fence
	@echo "perflab: the class pages are demo/results/index.html and demo/speed/index.html"

test: check fence
	$(BIN)/python -m pytest -q -rs -n 2 --dist worksteal

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py --durations=0 --no-header
	$(BIN)/perflab build --check

fix: .venv/ready
	$(BIN)/ruff check --fix --quiet reference || true
	$(BIN)/perflab build
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/perflab build

fence:
	@if ! command -v bwrap >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "perflab: installing bubblewrap and libseccomp2 (Debian packages), which the sandbox is made of"; \
	    apt-get update -qq && apt-get install -y -qq bubblewrap libseccomp2 >/dev/null; \
	  else echo "perflab: no bubblewrap, so no sandbox: sudo apt-get install bubblewrap libseccomp2"; fi; fi

system: fence
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  if ! command -v chromedriver >/dev/null; then \
	    echo "perflab: installing chromium and its driver (Debian packages), which the tests of the pages open"; \
	    apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null; fi; \
	  if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then \
	    echo "perflab: installing postgresql (Debian package), which the tests of gradebooks start a server of"; \
	    apt-get update -qq && apt-get install -y -qq postgresql >/dev/null; fi; \
	  if ! command -v slurmctld >/dev/null; then \
	    echo "perflab: installing slurm and munge (Debian packages), which the tests of clusters start two nodes of"; \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null; fi; \
	else echo "perflab: not root or no apt-get; tests that want chromium, postgresql or slurm will be skipped"; fi

course: .venv/ready
	$(BIN)/perflab course check --timed few

simulate: .venv/ready
	$(BIN)/python -m tests.clock.simulator > docs/measurements/decision-rule.md

gpu: .venv/ready
	@$(BIN)/python -c 'import sys; from autograder.machine.device import gpu_names; sys.exit(not gpu_names())' || { echo "perflab: no NVIDIA GPU here; points that need one stay owed"; exit 2; }
	$(BIN)/python -m pytest -q -rs -m gpu
	for lab in $$(ls reference); do $(BIN)/perflab calibrate $$lab --device cuda:0 || exit 1; done
	$(MAKE) evidence

evidence: .venv/ready
	@for part in reference/*/part*.py reference/*/bonus*.py; do \
	  (cd $$(dirname $$part) && ../../$(BIN)/python $$(basename $$part)) || exit 1; done

clean:
	rm -rf .venv demo build dist
