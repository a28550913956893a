"""The one kind of error that is meant for a person."""


class KnownError(ValueError):
    """Something the person at the screen can mend.

    Its message is a complete sentence that names what was given, what is allowed and what to do.
    Interfaces show it as it is; any other exception is a bug and is logged with its traceback.
    """
