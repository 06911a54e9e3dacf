"""Is one learning algorithm better, and does more data help?"""
