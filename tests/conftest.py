"""For all tests: hypothesis draws the same examples every time, so that a red run is about the change and not about luck.

`HYPOTHESIS_PROFILE=search python -m pytest` looks for new ones.
"""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Variants of tests whose siblings run always, and drawn-out calibrations: with the long ones (`python -m pytest -m long`), so that a
# build stays short.
OFTEN_ENOUGH = re.compile(
    r"""
    web/test_browser\.py::test_quiet.*\[(dark|phone)\]
    | browser/test_report_page\.py::test_quiet.*\[(dark-.*|light-(stopped|comparison|measurement|beliefs))\]
    | cli/test_run_cli\.py::test_(a_bad_address\[words5\]|the_key_is_nowhere\[down\]|sigterm)
    | read/sql/test_units\.py::.*\[spark
    | read/sql/test_portable\.py::(?!test_joint_cells).*\[spark
    | calibration/test_(paired_tests|learning_curve|crossval_null)\.py::
    | calibration/test_guard\.py::test_healthy_suites.*\[20\]
    | infer/test_paired_posterior\.py::test_the_loss_has_a_closed_form
    | infer/test_assurance\.py::test_equal_to_brute_force.*\[threshold-mid-p\]
    | plugin/test_run_plugin\.py::test_(under_xdist|doubt_fails|an_output_that|a_metric_of_its_own)
    | questions/test_run_hard\.py::test_(false_alarms.*-40\]|a_drop_of_theta_is_found\[40\])
    | read/test_bad_pairs\.py::test_45_very_many_labels\[50000\]
    """,
    re.VERBOSE,
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if OFTEN_ENOUGH.search(item.nodeid):
            item.add_marker(pytest.mark.long)
