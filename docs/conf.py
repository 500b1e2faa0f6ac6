"""Sphinx's configuration: `make docs`."""

from docutils import nodes
from sphinx.application import Sphinx

import nimblehlo

project = "NimbleHLO"
author = copyright = "the NimbleHLO developers"
version = release = nimblehlo.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["colon_fence"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
# Tutorials show the outputs that tools/notebooks.py has stored and tests compare.
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"NimbleHLO {nimblehlo.__version__}"
# Pages are readable without a network: no fonts, scripts or pictures come from elsewhere.
html_theme_options = {"navigation_with_keys": True}
# Of the modules only one has a heading of its own.
html_domain_indices = False
html_static_path = ["static"]
html_css_files = ["pages.css"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "code"
# Links to files of the sources that are no pages.
suppress_warnings = ["myst.xref_missing"]

MIN_PROSE = 40
"""Characters from which a cell of a table is prose, which the style lets wrap."""
MIN_LONG_PROSE = 160
"""Characters from which prose gets wider lines: rows would be taller than a window."""
MAX_SHORT = 16
"""Characters up to which a cell, such as a number with its unit, is one line."""


def mark_cells(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Give cells classes by the length of their text, which alone tells prose from numbers."""
    for cell in doctree.findall(nodes.entry):
        length = len(cell.astext())
        if length >= MIN_PROSE:
            cell["classes"] += ["prose", "long"] if length >= MIN_LONG_PROSE else ["prose"]
        else:
            cell["classes"].append("short" if length <= MAX_SHORT else "phrase")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("doctree-resolved", mark_cells)
