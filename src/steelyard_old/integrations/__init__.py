"""Services that answers are handed to: comments on GitHub and GitLab."""
