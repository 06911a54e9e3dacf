"""The report as one HTML page: no network, no address, no script but a search box whose hash is declared."""
