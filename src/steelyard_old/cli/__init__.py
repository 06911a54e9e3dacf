"""The command: one file per question, loaded when it is asked."""
