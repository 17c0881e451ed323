# Everything a contributor runs. `make help` lists the targets.
# Stamps remember what is installed, so that a second run starts at once.

PYTHON ?= python3
VENV   ?= .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.installed
# More arguments for pytest, for instance: make test ARGS='-k angles -x'
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench clean

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY)  ## Make .venv and install everything into it

demo: setup  ## Open napari with a sample; without a display: pictures in demo_output/
	$(PY) -m napari_roteq.demo --out demo_output

test: setup  ## Run the whole suite, on a virtual display where there is none
	tools/with_display.sh $(PY) -m pytest $(ARGS)

check: $(READY)  ## Lint, format, types, spelling: changes nothing
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/typos
	$(VENV)/bin/validate-pyproject pyproject.toml

format: $(READY)  ## Apply the fixes and the format that check asks for
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(READY)  ## Measure speed and memory beside other implementations
	-$(PY) -m pip install -q --no-deps -r benchmarks/requirements.txt
	$(PY) -m benchmarks

clean:  ## Remove what was built or cached; the venv stays
	rm -rf dist build demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(PY): | .make/system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

.make/system: tools/system_packages.sh
	tools/system_packages.sh $(PYTHON)
	@mkdir -p .make && touch $@

# The venv is order-only: its python is a link, whose date says nothing.
$(READY): pyproject.toml constraints.txt hatch_build.py tools/install.sh | $(PY)
	tools/install.sh $(PY)
	@touch $@
