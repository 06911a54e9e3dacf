"""The options of `steelyard run`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import HISTORY, KEEP_ANSWERS, NIGHT, PRIOR_SCALE, Option

OPTIONS = (
    Option(
        name="model",
        command=True,
        kind="input",
        metavar="MODEL",
        repeat=True,
        help="openai:NAME, python:pkg.mod:function, command:PROGRAM or file:PREDICTIONS. Several: the first is the baseline.",
    ),
    Option(
        name="data",
        kind="input",
        metavar="PATH",
        help="Data of the task, instead of its own; the files of a preset.  [default: what the task says]",
    ),
    Option(
        name="base_url",
        metavar="URL",
        repeat=True,
        help="Address of an endpoint with OpenAI's API, e.g. http://127.0.0.1:8000/v1; once for all models, or once per model, in order.",
    ),
    Option(
        name="api",
        choices=("chat", "completions"),
        repeat=True,
        help="API call to use; once, or once per model.  [default: chat]",
    ),
    Option(
        name="key_env",
        metavar="NAME",
        repeat=True,
        help="Name of the environment variable that holds the key; once, or once per model.  [default: OPENAI_API_KEY]",
    ),
    Option(
        name="name", metavar="NAME", repeat=True, help="Name of the model in the references.  [default: the text after the first colon]"
    ),
    Option(
        name="against", metavar="NAME", help="Reference to compare with; 'none' only measures.  [default: the model's own, if there is one]"
    ),
    Option(
        name="spec",
        kind="pairs",
        metavar="KEY=VALUE",
        repeat=True,
        help="Configuration this reference is for, e.g. quant_algo=FP8. Repeatable.",
    ),
    Option(name="directory", kind="directory", help="Directory of the references.  [default: references]"),
    Option(name="until", metavar="WHEN", help="When to stop: decided, width=X or n=N.  [default: after all items]"),
    Option(name="theta", type=float, help="Smallest drop that matters; --until decided stops once it is found or ruled out."),
    Option(name="margin", type=float, help="Drop to tolerate.  [default: 0]"),
    Option(name="alpha", type=float, help="False-alarm rate: share of healthy runs called worse.  [default: 0.05]"),
    Option(name="beta", type=float, help="Miss rate for a drop of theta; a pass rules it out at level 1 - beta.  [default: 0.2]"),
    Option(name="scale", choices=("percent", "fraction", "raw"), help="Scale of theta and margin."),
    Option(
        name="stopping",
        registry="steelyard.infer.sequential.stopping:RULES",
        help="Stopping rule of --until decided.  [default: profile-mcnemar for right or wrong, empirical-likelihood for scores, "
        "lan-demets for groups]",
    ),
    Option(name="discordance", type=float, help="For --stopping sprt: share of items on which two healthy runs differ."),
    Option(name="looks", type=int, help="Number of planned looks, for mcnemar and lan-demets; the other rules plan none.  [default: 20]"),
    Option(
        name="strata",
        choices=("auto", "none"),
        help="auto asks items whose answers on record waver more often, and weights them back; none asks all alike.  [default: auto "
        "where 4 or more answers per item are on record]",
    ),
    Option(name="every", type=int, default=32, help="Items between two looks."),
    Option(name="n", type=int, help="Number of items to ask, a subset in hash order.  [default: the task's, else all]"),
    Option(name="seed", type=int, help="Random seed for the order of the items.  [default: the task's, else 0]"),
    Option(name="repeats", type=int, default=1, help="How many times to ask each item."),
    Option(name="concurrency", type=int, help="Maximum concurrent requests.  [default: depends on the model]"),
    Option(name="batch", type=int, repeat=True, help="Items per call of a Python function or command; once, or once per model."),
    Option(
        name="timeout",
        type=float,
        repeat=True,
        help="Total seconds allowed per answer (per attempt of an endpoint, per batch of a function); once, or once per model.",
    ),
    Option(name="max_calls", type=int, help="Most calls to make; a run that reaches it ends undecided and can be continued."),
    Option(
        name="max_cost",
        type=float,
        help="Most money to spend at --price; requests under way are finished. A run that reaches it ends undecided and can be continued.",
    ),
    Option(name="max_error_rate", type=float, default=0.02, help="Share of items that may fail before the run is aborted."),
    Option(
        name="missing", choices=("error", "wrong", "drop"), default="error", help="What to do with items that still fail after retries."
    ),
    Option(
        name="unmatched",
        choices=("error", "drop"),
        default="error",
        help="What to do with items that only the run or only the reference has.",
    ),
    PRIOR_SCALE,
    Option(
        name="prices",
        kind="prices",
        flag="--price",
        metavar="input=X,output=Y",
        repeat=True,
        help="Price per million tokens, to compute the cost; once, or once per model.",
    ),
    Option(name="dry_run", switch=True, help="Show the first prompt, the number of calls, tokens and cost; send nothing, write nothing."),
    Option(name="suite", command=True, kind="file", help="Suite file: run and check everything in it; gives one verdict."),
    *NIGHT,
    Option(
        name="stop",
        command=True,
        choices=("first", "all"),
        default="first",
        help="With --suite and --until decided: end at the first regression, or decide every task.",
    ),
    Option(name="output", short="-o", kind="output", help="Where to write the rows, one JSON object per line."),
    Option(
        name="answer_",
        command=True,
        flag="--answer",
        kind="output",
        repeat=True,
        help="Write the answer to this file instead of stdout; its extension sets the format. Repeat for several formats.",
    ),
    Option(
        name="fail_on",
        command=True,
        choices=("inconclusive", "regression"),
        default="inconclusive",
        help="With 'regression', an inconclusive verdict exits 0.",
    ),
    Option(name="config", kind="file", help="Path of steelyard.toml.  [default: the nearest one, going up from here]"),
    HISTORY,
    KEEP_ANSWERS,
    Option(name="progress", python_alone="the command prints it", help="Called as the work goes on.  [default: silence]"),
    Option(name="verdict", python_alone="the command knows which formats need one", help="Refuse a run that would not be judged."),
)


HOW = (
    "until",
    "stopping",
    "looks",
    "every",
    "strata",
    "discordance",
    "n",
    "seed",
    "repeats",
    "missing",
    "unmatched",
    "max_error_rate",
    "max_calls",
    "max_cost",
    "concurrency",
)


RULE = ("theta", "margin", "alpha", "beta", "scale")


OF_MODELS = ("base_url", "api", "key", "key_env", "batch", "timeout", "seeds")
