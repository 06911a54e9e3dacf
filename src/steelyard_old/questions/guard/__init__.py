"""Has it become worse than the reference?"""
