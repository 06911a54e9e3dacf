"""Which rows are for training and which for testing, and do finished parts share any?"""
