"""What can go wrong, as exceptions."""

import errno


class PenstockError(Exception):
    """One sentence.  `errno` is of the call; `code` is Slurm's number of the error, 0 when the controller gave none."""

    def __init__(self, text, number=0, code=0):
        super().__init__(text)
        self.errno, self.code = number, code


class Unreachable(PenstockError):
    """The controller cannot be reached."""


class ConnectionLost(PenstockError):
    """The connection was lost: it is not known whether the request was done."""


class Refused(PenstockError):
    """The controller refuses the request.  Of a change of jobs, `results` has (id, code, sentence) of each."""

    def __init__(self, text, number=0, code=0, results=()):
        super().__init__(text, number, code)
        self.results = list(results)


class NotTrusted(PenstockError):
    """Who we are is not believed."""


KINDS = {
    errno.ECONNREFUSED: Unreachable, errno.EHOSTUNREACH: Unreachable, errno.ETIMEDOUT: Unreachable,
    errno.ECONNRESET: ConnectionLost, errno.EREMOTEIO: Refused, errno.EACCES: NotTrusted,
}


def error_of(number, code, text):
    """The exception for a call that gave -number; mistakes of the caller are ValueError, and jobs
    that are not there LookupError, as in the rest of Python."""
    if number == errno.ENOMEM:
        return MemoryError(text)
    if number in (errno.EINVAL, errno.ENOENT):
        return LookupError(text) if code else ValueError(text)
    return KINDS.get(number, PenstockError)(text, number, code)
