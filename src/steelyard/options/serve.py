"""The options of `steelyard serve`, declared once: flags of the command. Python has no such question."""

from __future__ import annotations

from steelyard.options.option import Option

PORT = 8765
OPTIONS = (
    Option(
        name="history",
        terminal="server",
        metavar="URL",
        help="Database to read: sqlite:///runs.db or postgresql://host/db.  [default: from steelyard.toml]",
    ),
    Option(
        name="host",
        terminal="server",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="Address to listen on; if others can reach it, reading needs the token too.",
    ),
    Option(name="port", terminal="server", type=int, least=0, most=65535, default=PORT, help="Port to listen on; 0 picks a free one."),
    Option(
        name="token",
        terminal="server",
        variable="STEELYARD_TOKEN",
        metavar="TEXT",
        help="Token required for changes; also read from STEELYARD_TOKEN.  [default: a new one, printed]",
    ),
    Option(
        name="allow_host",
        terminal="server",
        repeat=True,
        metavar="NAME",
        help="Another host name for this server, e.g. of a proxy. Repeatable.",
    ),
    Option(name="directory", terminal="server", kind="directory", help="Directory of the references.  [default: references]"),
    Option(name="config", terminal="server", kind="file", help="Path of steelyard.toml.  [default: the nearest one, going up from here]"),
    Option(name="open_", terminal="server", flag="--open", switch=True, help="Open the page in a browser."),
    Option(name="debug", terminal="server", switch=True, help="Show the traceback of an error."),
)
