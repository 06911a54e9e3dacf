"""The dashboard: a local web page over the history, rendered by the server, that asks the same questions as the command."""
