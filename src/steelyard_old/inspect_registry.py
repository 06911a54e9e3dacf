"""What Inspect loads by its entry point: the metrics under their names, so that a log can be scored anew, and the hook if asked for."""

from __future__ import annotations

from importlib.util import find_spec

from steelyard_old.inspect_plugin import register

if find_spec("inspect_ai") is not None:  # whoever else imports all modules has nothing to register them with
    register()
