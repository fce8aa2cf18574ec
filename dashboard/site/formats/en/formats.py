"""Dates and times as Django writes them, in the admin alone: those of language/moments.py, in UTC
(middleware.AdminInUTC).
"""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
TIME_FORMAT = "H:i"
