"""A series of runs: drift charts and change points."""
