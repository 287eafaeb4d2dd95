# make quickstart   train the embedded example and draw its translation matrix
# make test         the tests
PYTHON ?= python3
VENV ?= .venv
polyglot := $(VENV)/bin/polyglot

.PHONY: quickstart test install
.DELETE_ON_ERROR:

install: $(VENV)/.installed

# torch first and by exact version: an open range would bring gigabytes of CUDA packages to a machine without a GPU.
$(VENV)/.installed: pyproject.toml .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt torch
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e ".[test]"
	touch $@

quickstart: $(VENV)/.installed
	if [ -d runs/phrasebook ]; then $(polyglot) train runs/phrasebook --resume; else $(polyglot) train phrasebook; fi
	$(polyglot) evaluate runs/phrasebook

test: $(VENV)/.installed
	$(VENV)/bin/python -m pytest
