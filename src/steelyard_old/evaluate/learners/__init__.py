"""Learners fitted on seeded splits."""
