"""Notifications: a finished message in, the channel's answer out; channels.py lists what there is."""
