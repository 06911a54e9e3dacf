"""The options of `steelyard plan split`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import Option
from steelyard_old.options.plan_train import OPTIONS as TRAIN

_SHARED = {option.name: option for option in TRAIN}

OPTIONS = (
    Option(name="total", type=int, least=2, required=True, metavar="N", help="Labelled items in all, to train on and to test on."),
    Option(
        name="width",
        type=float,
        metavar="W",
        help="Test on just enough items for an interval of this width, and train on the rest.  [default: the highest lower bound]",
    ),
    Option(
        name="within",
        type=float,
        default=0.002,
        metavar="LOSS",
        help="Splits whose lower bound is at most this much below the best count as nearly as good.",
    ),
    _SHARED["size"],
    _SHARED["score"],
    _SHARED["train_score"],
    _SHARED["seed_column"],
    _SHARED["n_test"],
    _SHARED["lower_is_better"],
    _SHARED["confidence_level"],
    _SHARED["draws"],
    _SHARED["seed"],
)
