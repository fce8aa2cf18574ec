"""Telling people: a finished message in, the channel's answer out. `channels.py` is the table of
what there is.
"""
