"""Items to sufficient statistics: what remains of the data after counting."""
