"""Which commit made it worse?"""
