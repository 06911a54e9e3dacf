"""`steelyard serve`: browse the history on a local web page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.cli.command import command
from steelyard.errors import UsageError

PORT = 8765


@command()
@click.option(
    "--history", metavar="URL", help="Database to read: sqlite:///runs.db or postgresql://host/db.  [default: from steelyard.toml]"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. On any other address than this machine's, reading needs the token too.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port to listen on; 0 picks a free one.")
@click.option(
    "--token",
    envvar="STEELYARD_TOKEN",
    metavar="TEXT",
    help="Token required for changes; also read from STEELYARD_TOKEN.  [default: a new one, printed]",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another host name for this server, e.g. of a proxy. Repeatable.")
@click.option("--directory", type=click.Path(file_okay=False), help="Directory of the references.  [default: references]")
@click.option("--config", type=click.Path(dir_okay=False), help="Path of steelyard.toml.  [default: the nearest one, going up from here]")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def serve(**options: Any) -> None:
    """Serve a local web page: accuracy over time, verdicts, comparisons of runs, a plan calculator, references to approve.

    By default it listens on this machine only, and asks for a token before it changes anything. Stop it with Ctrl-C.

    \b
    Examples:
      steelyard serve
      steelyard serve --history sqlite:///runs.db --open
      steelyard serve --host 0.0.0.0 --allow-host eval.example
    """
    try:
        from steelyard.web import app
    except ImportError as fault:
        if (fault.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(
            f"serve needs the package {fault.name}, which is not installed.",
            got=f"no package {fault.name}",
            need="starlette and uvicorn",
            hint='pip install "steelyard[serve]"',
        ) from None
    serving = _serving(options)
    found = app.bound("127.0.0.1" if options["host"].lower() == "localhost" else options["host"], options["port"])
    address = app.address_of(found)
    app.serve(serving, found, ready=lambda: _told(serving, address, options))
    click.echo("stopped", err=True)


def _serving(options: dict[str, Any]) -> Any:
    """The settings of the server; a history that cannot be opened is told now and not by the first page."""
    from steelyard.questions.history.history import HINT, history_place
    from steelyard.reference.config import find_config
    from steelyard.web.settings import Serving, checked_token, is_local, names_of

    config = None if options["config"] is None else Path(options["config"])
    place = history_place(options["history"], find_config(Path.cwd(), config))
    if place is None:
        raise UsageError("No history configured.", need="the address of a history database", hint=HINT)
    names, everywhere = names_of(options["host"], options["allow_host"])
    serving = Serving(
        history=place[0],
        base=place[1],
        config=config,
        directory=options["directory"],
        local=is_local(options["host"]) and not options["allow_host"],  # a name that leads here may be open to others
        names=names,
        any_address=everywhere,
        token=checked_token(options["token"]),
    )
    from dataclasses import replace

    with serving.opened() as history:
        return replace(serving, shown=history.shown)


def _told(serving: Any, address: str, options: dict[str, Any]) -> None:
    """Where the page is, and the token if it was made here; it is said once, and to the terminal only."""
    click.echo(f"serving {serving.shown} at {address}", err=True)
    if options["token"] is None:
        click.echo(f"token: {serving.token}", err=True)
        click.echo("the token is needed " + ("for changes only" if serving.local else "to see anything"), err=True)
    if not serving.local:
        click.echo(
            "warning: this is unencrypted HTTP, and anyone on the network path can read the token; put a TLS proxy in front", err=True
        )
    click.echo("press Ctrl-C to stop", err=True)
    if options["open_"]:
        click.launch(address)
