"""Two systems on the same items: intervals, tests, margins, and the decision of a guard."""
