"""The version, once."""

__version__ = "0.2.0.dev0"
