"""Claims about tests, guards, stopping rules and plans: false alarms and power."""
