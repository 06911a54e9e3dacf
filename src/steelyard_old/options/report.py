"""The options of `steelyard report`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.options.option import DEBUG, OPEN, QUIET, Option

_FLAGS = "a flag for cards of `report`"
TASK = Option(name="task", default="other", python_alone=_FLAGS, help="The Hub's name for this type of task.")
TASK_ID = Option(name="task_id", default="default", python_alone=_FLAGS, help="Task id within the benchmark.")
CARDS = (
    Option(
        name="card",
        elsewhere="model_card.path",
        kind="output",
        help="Write or update a Hugging Face model card (README.md). Text written by people is kept.",
    ),
    Option(
        name="card_answers",
        elsewhere="model_card.answers",
        kind="path",
        metavar="FILE",
        help="For --card: TOML file with intended_use, limits and harms, for sections of the card that are still empty.",
    ),
    Option(
        name="eval_results",
        elsewhere="eval_results.path",
        kind="output",
        help="Write an .eval_results/NAME.yaml file for the Hugging Face Hub. Data has to be named owner/name.",
    ),
    Option(name="google_card", elsewhere="google_card.path", kind="output", help="Write or update a model card in Google's JSON format."),
    Option(
        name="every_eval_ever",
        elsewhere="every_eval_ever_records.directory",
        kind="output_directory",
        help="Write Every Eval Ever records into this directory.",
    ),
    Option(
        name="model",
        elsewhere="model_card.model",
        metavar="NAME",
        help="For cards: name of the model.  [default: from the results or the card]",
    ),
    Option(
        name="task_type",
        elsewhere="model_card.task",
        default=TASK.default,
        metavar="NAME",
        help="For --card: the Hub's name for this type of task.",
    ),
    Option(
        name="task_id",
        elsewhere="eval_results.task_id",
        default=TASK_ID.default,
        metavar="NAME",
        help="For --eval-results: task id within the benchmark.",
    ),
    Option(name="metric", elsewhere="eval_results.metric", metavar="NAME", help="For --eval-results: the one metric to write."),
    Option(name="source_url", elsewhere="model_card.source", metavar="URL", help="For --card and --eval-results: link to the evaluation."),
    Option(
        name="about",
        elsewhere="every_eval_ever_records.about",
        repeat=True,
        metavar="KEY=VALUE",
        help="For --every-eval-ever: organization=NAME, relationship ... Repeat.",
    ),
)
OPTIONS = (
    Option(name="output", terminal="output", short="-o", kind="output", help="Where to write the page.  [default: report.html]"),
    Option(name="title", help="Title of the page."),
    Option(
        name="flips",
        kind="path",
        help="File written by `compare --flips-out`; its items are listed on the page.",
        python="File that `compare(flips_out=...)` wrote; its items are listed on the page.",
    ),
    OPEN,
    *CARDS,
    QUIET,
    DEBUG,
)

# Of the functions of Python that the flags for cards stand for.
CARD = (
    Option(name="path", takes="path", required=True, python_alone=_FLAGS, help="The README.md to write or update."),
    Option(
        name="results",
        takes="mapping",
        required=True,
        python_alone=_FLAGS,
        help="The name of the data -> a measurement, a comparison or a run.",
    ),
    Option(name="model", python_alone=_FLAGS, help="The name in the index.  [default: the one that is there]"),
    TASK,
    Option(name="source", python_alone=_FLAGS, help="Where the evaluation can be seen."),
    Option(
        name="answers",
        takes="mapping or path",
        python_alone=_FLAGS,
        help="What only people know, as a mapping or a TOML file: intended_use, limits, harms.",
    ),
)
_OF_CARD = {option.name: option for option in CARD}
_HUB = "The .eval_results/NAME.yaml to write, or to write anew."
EVAL_RESULTS = (
    replace(_OF_CARD["path"], help=_HUB),
    replace(_OF_CARD["results"], help="The name of the data, owner/name -> a measurement, a comparison or a run."),
    _OF_CARD["source"],
    Option(name="metric", takes="metric", python_alone=_FLAGS, help="The one metric to write.  [default: the only one there is]"),
    TASK_ID,
)
GOOGLE_CARD = (
    replace(_OF_CARD["path"], help="The JSON file to write or update."),
    _OF_CARD["results"],
    replace(_OF_CARD["model"], help="Name of the model.  [default: the one of a run]"),
)
RECORD_FILES = (
    Option(name="directory", takes="path", required=True, python_alone=_FLAGS, help="The directory of the datastore; it has to exist."),
    _OF_CARD["results"],
    replace(_OF_CARD["model"], help="Name of the model, developer/name.  [default: the one of a run]"),
    Option(
        name="about",
        takes="mapping",
        python_alone=_FLAGS,
        help="What a result does not know: organization, which is needed, relationship, dataset, ...  [default: nothing more]",
    ),
)
RECORDS = (
    Option(
        name="about",
        takes="mapping",
        required=True,
        python_alone=_FLAGS,
        help="What a measurement does not know: model, evaluation, organization, retrieved, ...",
    ),
    Option(name="items", switch=True, default=True, python_alone=_FLAGS, help="Also the items, beside the aggregate."),
)
