"""The error for an action that a person asked for and that is not allowed."""


class ActionNotAllowed(ValueError):
    """The action is not possible; the text tells the person why."""
