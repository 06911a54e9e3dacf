"""How much data do we need?"""
