"""The recorded references: what the files hold, how they are matched, read and written. No statistics."""
