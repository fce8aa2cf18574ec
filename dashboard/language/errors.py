"""What a person asked for and cannot have."""


class ActionNotAllowed(ValueError):
    """What was asked for cannot be done; the text says why, to the person who asked."""
