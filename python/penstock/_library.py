"""libpenstock's calls, as penstock.h declares them, over ctypes: no compiler, no other package is needed.

PENSTOCK_LIBRARY names another file than the libpenstock.so.0 that the system finds."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p

_TEXT, _HANDLE, _OUT = c_char_p, c_void_p, POINTER(c_void_p)

# name: what it gives, what it takes.
CALLS = {
    "version": (_TEXT,),
    "code_text": (_TEXT, c_int),
    "new": (_HANDLE,),
    "free": (None, _HANDLE),
    "set": (c_int, _HANDLE, _TEXT, _TEXT),
    "connect": (c_int, _HANDLE),
    "error": (_TEXT, _HANDLE),
    "code": (c_int, _HANDLE),
    "job_new": (_HANDLE, _HANDLE),
    "job_free": (None, _HANDLE),
    "job_set": (c_int, _HANDLE, _TEXT, _TEXT),
    "job_script": (c_int, _HANDLE, _TEXT, c_size_t),
    "job_argument": (c_int, _HANDLE, _TEXT),
    "job_environment": (c_int, _HANDLE, _TEXT, _TEXT),
    "job_key": (c_int, _HANDLE, _TEXT),
    "submit": (c_int, _HANDLE, _HANDLE, POINTER(c_uint32)),
    "wait": (c_int, _HANDLE, c_uint32, c_int, POINTER(c_int)),
    "cancel": (c_int, _HANDLE, _TEXT),
    "signal": (c_int, _HANDLE, _TEXT, _TEXT),
    "hold": (c_int, _HANDLE, _TEXT),
    "release": (c_int, _HANDLE, _TEXT),
    "requeue": (c_int, _HANDLE, _TEXT),
    "update": (c_int, _HANDLE, _TEXT, _TEXT, POINTER(_TEXT)),
    "result": (c_int, _HANDLE, c_size_t, POINTER(c_int), POINTER(_TEXT), POINTER(_TEXT)),
    "query_new": (c_int, _HANDLE, _TEXT, _OUT),
    "query_free": (None, _HANDLE),
    "query_fields": (c_int, _HANDLE, _TEXT),
    "query_filter": (c_int, _HANDLE, _TEXT, _TEXT),
    "query_next": (c_int, _HANDLE, _OUT),
    "field": (_TEXT, _TEXT, c_size_t, POINTER(_TEXT)),
    "row_text": (_TEXT, _HANDLE, _TEXT),
    "row_number": (c_int, _HANDLE, _TEXT, POINTER(c_int64)),
    "row_json": (_TEXT, _HANDLE),
    "watch_new": (c_int, _HANDLE, _OUT),
    "watch_free": (None, _HANDLE),
    "watch_set": (c_int, _HANDLE, _TEXT, _TEXT),
    "watch_start": (c_int, _HANDLE, c_int),
    "watch_next": (c_int, _HANDLE, c_int, _OUT),
    "watch_fd": (c_int, _HANDLE),
    "watch_cursor": (_TEXT, _HANDLE),
    "change_event": (_TEXT, _HANDLE),
    "change_type": (_TEXT, _HANDLE),
    "change_id": (c_uint32, _HANDLE),
    "change_time_us": (c_int64, _HANDLE),
    "change_before": (_HANDLE, _HANDLE),
    "change_after": (_HANDLE, _HANDLE),
    "change_json": (_TEXT, _HANDLE),
}


class Library:
    """One attribute for each call, without its prefix."""

    def __init__(self, path):
        self.loaded = ctypes.CDLL(path)
        for name, (result, *arguments) in CALLS.items():
            call = getattr(self.loaded, f"penstock_{name}")
            call.restype, call.argtypes = result, arguments
            setattr(self, name, call)


_library = None


def library():
    global _library
    if _library is None:
        _library = Library(os.environ.get("PENSTOCK_LIBRARY", "libpenstock.so.0"))
    return _library
