"""The nights of a suite in the history: `history simulate` replays them with other budgets, `history ack` acknowledges a regression."""

from __future__ import annotations

from steelyard_old.cli.command import Given, verb_command
from steelyard_old.options.history import ACK, SIMULATE


@verb_command(SIMULATE, "simulate", short_help="replay stored nights with other budgets of false alarms")
def simulate_(given: Given) -> None:
    """Replay the stored nights of a suite with several budgets: which nights would have alarmed?

    Nights are stored by `check --suite` with a budget and a history. Row 1: the nights as judged. Each further row: the same nights
    under another budget of false alarms a year. With --suite, --task or --model the ordinary runs in the history are taken for
    nights, so that a budget can be tried before it is adopted. Nothing is changed in the history.

    \b
    Examples:
      steelyard history simulate
      steelyard history simulate --series main --false-alarms 0.1 --false-alarms 1 --false-alarms 4
      steelyard history simulate --suite suite.toml --false-alarms 1 --false-alarms 12
      steelyard history simulate --nights 90 --format markdown
      steelyard history simulate --history sqlite:///runs.db -o nights.html
    """
    from steelyard_old.questions.history.simulate import simulate_nights

    given.answer(simulate_nights(**given.keywords()))


@verb_command(ACK, "ack", short_help="acknowledge the regression of a series of nights")
def ack_(given: Given) -> None:
    """Acknowledge the regression that stands in a series of nights (a suite with a budget); until then every night is red.

    --accept: the change is intended, and nights are compared with it from now on. --fixed: the cause is gone, and nights are compared
    with those before it again.

    Exit code 0: acknowledged, 3: no regression stands, or error.

    \b
    Examples:
      steelyard history ack --fixed --reason "tokenizer rolled back"
      steelyard history ack --series main --accept --reason "FP8 is worth a point"
    """
    from steelyard_old.questions.history.acknowledge import acknowledge

    given.answer(acknowledge(**given.keywords()))
