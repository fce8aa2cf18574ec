"""The environments in which the suite can run: one torch build each.

They are adopted interpreters, and those that we make.
"""
