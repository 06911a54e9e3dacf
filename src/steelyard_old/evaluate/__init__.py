"""Where fresh results come from: learners fitted on seeded splits, models asked item by item."""
