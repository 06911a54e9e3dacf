"""Rules that stop early and keep their error rates, and what holds after they stopped."""
