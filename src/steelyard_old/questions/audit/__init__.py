"""What can published scores show?"""
