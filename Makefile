# run: build, install, run the examples.  test: everything that continuous integration checks.
# bench: some benchmarks, in minutes.  dashboard: pages of all benchmark figures that are stored.
# docs: the pages of docs/ as HTML.
# wheels: the source distribution and a wheel for each Python of this machine, tested, in dist/.
.PHONY: run test lint bench dashboard docs wheels clean

SHELL := /bin/sh
VENV_PYTHON := .venv/bin/python
SET_UP = python="$$(sh tools/find_python.sh $(PYTHON))" && "$$python" tools/set_up.py

run:
	@$(SET_UP)
	@$(VENV_PYTHON) tools/run_examples.py

test: lint
	@$(VENV_PYTHON) -m pytest -n 2 --dist worksteal

lint:
	@$(SET_UP) dev
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) tools/typecheck.py

bench:
	@$(SET_UP) bench
	@$(VENV_PYTHON) -m benchmarks.short

dashboard:
	@$(SET_UP) bench
	@$(VENV_PYTHON) -m benchmarks.dashboard
	@echo "look at it: $(VENV_PYTHON) -m http.server --directory .asv/html --bind localhost"

docs:
	@$(SET_UP) docs
	@$(VENV_PYTHON) -m sphinx -j auto -W --keep-going -b html docs build/docs
	@echo "look at it: build/docs/index.html"

wheels:
	@$(SET_UP) wheels
	@$(VENV_PYTHON) tools/wheels.py

clean:
	rm -rf .venv build dist .asv .hypothesis .mypy_cache .nox .pytest_cache .ruff_cache *.egg-info runtime/*.egg-info
	find runtime kernels tests tools examples -name __pycache__ -type d -prune -exec rm -rf {} +
	find runtime kernels -name '*.so' -delete
