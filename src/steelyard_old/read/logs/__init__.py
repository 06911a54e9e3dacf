"""Logs of evaluation tools: each reader turns one tool's files into columns, and never guesses which of several is meant."""
