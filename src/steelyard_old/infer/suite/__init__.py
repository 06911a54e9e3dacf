"""Many tasks, one verdict: a pooled test beside the tests of the tasks, and names by closed testing."""
