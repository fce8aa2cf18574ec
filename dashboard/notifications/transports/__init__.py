"""A finished message in, the channel's answer out; channels.py lists the transports."""
