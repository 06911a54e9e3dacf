"""The dashboard: browse the history on a local web page, rendered by the server, that asks the same questions as the command."""
