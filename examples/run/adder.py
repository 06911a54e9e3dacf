"""A model as a command: reads one question a line, writes one answer a line. Any language will do.

steelyard run examples/run/sum.toml --model "command:python examples/run/adder.py" -o out.jsonl
"""

from __future__ import annotations

import json
import re
import sys

for line in sys.stdin:
    question = json.loads(line)
    # the last two numbers of the prompt; what came before may be examples
    first, second = map(int, re.findall(r"\d+", question["input"])[-2:])
    sys.stdout.write(json.dumps({"id": question["id"], "repeat": question["repeat"], "said": f"The sum is {first + second}."}) + "\n")
    sys.stdout.flush()
