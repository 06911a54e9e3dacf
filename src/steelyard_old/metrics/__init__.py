"""What is measured: a tally to a number. Name, range, direction, where it is undefined, gradient."""
