"""The site of these pages: `sphinx-build -W --keep-going -n -b html docs build/site`, offline, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from steelyard.version import __version__

project = "steelyard"
author = "the steelyard authors"
project_copyright = f"{author}, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "textbook", "command_help", "site_pages"]
exclude_patterns = ["data", "_extensions"]
myst_heading_anchors = 4  # the anchors that code hosts give to headings

smartquotes = False  # `--by` has two hyphens wherever it stands
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"steelyard {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
