"""Speed and size of steelyard beside peers, in one run: `python -m benchmarks`. Goals: goals.py; why one is missed: causes.py."""
