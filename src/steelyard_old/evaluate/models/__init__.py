"""Models that can be asked: endpoints, functions, programs, files of predictions."""
