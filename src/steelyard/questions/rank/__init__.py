"""Many systems: which are better than which?"""
