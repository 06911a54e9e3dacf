"""The options of `steelyard report`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import Option

CARDS = (
    Option(
        name="card",
        command=True,
        kind="output",
        help="Write or update a model card of the Hugging Face Hub, a README.md. What people wrote stays.",
    ),
    Option(
        name="eval_results", command=True, kind="output", help="Write a file .eval_results/NAME.yaml of the Hub. Data named owner/name."
    ),
    Option(name="google_card", command=True, kind="output", help="Write or update a model card of Google's, as JSON."),
    Option(name="every_eval_ever", command=True, kind="output_directory", help="Write records of Every Eval Ever below a directory."),
    Option(name="model", command=True, metavar="NAME", help="For cards: the model.  [default: what the results or the card name]"),
    Option(name="task_type", command=True, default="other", metavar="NAME", help="For --card: the Hub's name of the task."),
    Option(name="task_id", command=True, default="default", metavar="NAME", help="For --eval-results: the benchmark's task."),
    Option(name="metric", command=True, metavar="NAME", help="For --eval-results, which holds one score: which one."),
    Option(name="source_url", command=True, metavar="URL", help="For --card and --eval-results: where the evaluation can be seen."),
    Option(
        name="about",
        command=True,
        repeat=True,
        metavar="KEY=VALUE",
        help="For --every-eval-ever: organization=NAME, relationship ... Repeat.",
    ),
)
OPTIONS = (
    Option(name="output", command=True, short="-o", kind="output", help="The page.  [default: report.html]"),
    Option(name="title", help="The heading of the page."),
    Option(name="flips", kind="path", help="A file of `compare --flips-out`: its items are listed."),
    Option(name="open_", command=True, flag="--open", switch=True, help="Open the page in a browser."),
    *CARDS,
    Option(name="quiet", command=True, switch=True, help="No messages on standard error but errors."),
    Option(name="debug", command=True, switch=True, help="Show the traceback of an error."),
)
