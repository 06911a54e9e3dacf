"""`steelyard serve`: browse the history on a local web page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard_old.cli.command import Given, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.serve import OPTIONS


@verb_command(OPTIONS, answers=None)
def serve(given: Given) -> None:
    """Serve a local web page: accuracy over time, verdicts, comparisons of runs, a plan calculator, references to approve.

    By default it listens on this machine only, and asks for a token before it changes anything. Stop it with Ctrl-C.

    \b
    Examples:
      steelyard serve
      steelyard serve --history sqlite:///runs.db --open
      steelyard serve --host 0.0.0.0 --allow-host eval.example
    """
    try:
        from steelyard_old.web import app
    except ImportError as fault:
        if (fault.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(
            f"serve needs the package {fault.name}, which is not installed.",
            got=f"no package {fault.name}",
            need="starlette and uvicorn",
            hint='pip install "steelyard[serve]"',
        ) from None
    serving = _serving(given)
    found = app.bound("127.0.0.1" if given["host"].lower() == "localhost" else given["host"], given["port"])
    address = app.address_of(found)
    app.serve(serving, found, ready=lambda: _print_address(serving, address, given))
    click.echo("stopped", err=True)


def _serving(given: Given) -> Any:
    """The settings of the server; a history that cannot be opened is told now and not by the first page."""
    from steelyard_old.estimate.past_runs import HINT, history_place
    from steelyard_old.reference.config import find_config
    from steelyard_old.web.settings import Serving, checked_token, is_local, names_of

    config = None if given["config"] is None else Path(given["config"])
    place = history_place(given["history"], find_config(Path.cwd(), config))
    if place is None:
        raise UsageError("No history configured.", need="the address of a history database", hint=HINT)
    names, everywhere = names_of(given["host"], given["allow_host"])
    serving = Serving(
        history=place[0],
        base=place[1],
        config=config,
        directory=given["directory"],
        local=is_local(given["host"]) and not given["allow_host"],  # a name that leads here may be open to others
        names=names,
        any_address=everywhere,
        token=checked_token(given["token"]),
    )
    from dataclasses import replace

    with serving.opened() as history:
        return replace(serving, shown=history.shown)


def _print_address(serving: Any, address: str, given: Given) -> None:
    """Where the page is, and the token if it was made here; it is said once, and to the terminal only."""
    click.echo(f"serving {serving.shown} at {address}", err=True)
    if given["token"] is None:
        click.echo(f"token: {serving.token}", err=True)
        click.echo("the token is needed " + ("for changes only" if serving.local else "to see anything"), err=True)
    if not serving.local:
        click.echo(
            "warning: this is unencrypted HTTP, and anyone on the network path can read the token; put a TLS proxy in front", err=True
        )
    click.echo("press Ctrl-C to stop", err=True)
    if given["open_"]:
        click.launch(address)
