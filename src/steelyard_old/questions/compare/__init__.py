"""Is one better than the other?"""
