"""How good is it, and how sure are we?"""
