"""Sphinx's configuration: `make docs`."""

import nimblehlo

project = "NimbleHLO"
author = "the NimbleHLO developers"
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
html_static_path = ["static"]
html_css_files = ["pages.css"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "code"
# Links to files of the sources that are no pages.
suppress_warnings = ["myst.xref_missing"]
