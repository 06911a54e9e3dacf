"""Numbers: a metric is what an item adds and what the totals mean."""
