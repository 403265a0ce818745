"""A cluster: submit, list, change and watch jobs."""

import ctypes
import json
import os
import threading

from . import records
from ._library import library
from .errors import PenstockError, Refused, error_of
from .watch import Watch


def as_bytes(value):
    """A value of an option, filter or key as the library takes it."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"yes" if value else b"no"
    if isinstance(value, (list, tuple, set, frozenset)):
        return b",".join(as_bytes(item) for item in value)
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if "\0" in text:
        raise ValueError("a text with a NUL in it")
    return text.encode("utf-8", "surrogateescape")


class Handle:
    """A handle of the library, one thread at a time."""

    def __init__(self, settings):
        self.lib = library()
        self.lock = threading.RLock()
        self.pointer = self.lib.new()
        if not self.pointer:
            raise MemoryError
        for name, value in settings.items():
            if value is not None:
                self.call(self.lib.set, self.pointer, name.encode(), as_bytes(value))

    def call(self, function, *arguments):
        """What the call gives, or its error as an exception."""
        with self.lock:
            if not self.pointer:
                raise ValueError("the cluster was closed")
            result = function(*arguments)
            if result < 0:
                raise error_of(-result, self.lib.code(self.pointer),
                               self.lib.error(self.pointer).decode("utf-8", "replace"))
            return result

    def close(self):
        with self.lock:
            if self.pointer:
                self.lib.free(self.pointer)
            self.pointer = None


class Cluster:
    """Who we are at a cluster.

    conf     slurm.conf; without it SLURM_CONF, then the built-in path
    token    a JSON Web Token; without it SLURM_JWT, else our own user
    user     act for this user (root and SlurmUser only)
    timeout  seconds a call may take, a restart of the controller among them; without it MessageTimeout

    Usable from several threads, which wait for each other; a with statement closes it.  From asyncio, use
    asyncio.to_thread() for what is not watch()."""

    def __init__(self, *, conf=None, token=None, user=None, timeout=None, program="python"):
        self.settings = {"conf": conf, "token": token, "user": user, "timeout": timeout, "program": program}
        self.handle = Handle(self.settings)
        self.lib = self.handle.lib

    def close(self):
        self.handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def connect(self):
        """Reach the controller now, which the other calls do when they need it."""
        self.handle.call(self.lib.connect, self.handle.pointer)

    # ---- submitting

    def submit(self, script=None, *, arguments=(), environment=None, key=None, **options):
        """Submit a batch script (text or bytes) and give the job's number, once the controller has it on disk.

        options are those of sbatch, "_" for "-": submit(script, time=5, cpus_per_task=2, array="0-9").  True is an
        option without a value; None and False leave it out.  `wrap="command"` stands for a script.  environment: a
        mapping in place of this process's own.  key: the same key makes no second job within 24 hours."""
        h, lib = self.handle, self.lib
        with h.lock:
            if not h.pointer:
                raise ValueError("the cluster was closed")
            job = lib.job_new(h.pointer)
            if not job:
                raise MemoryError
            try:
                for name, value in options.items():
                    if value is not None and value is not False:
                        h.call(lib.job_set, job, name.replace("_", "-").encode(),
                               None if value is True else as_bytes(value))
                if script is not None:
                    data = script if isinstance(script, bytes) else script.encode()
                    h.call(lib.job_script, job, data, len(data))
                for word in arguments:
                    h.call(lib.job_argument, job, as_bytes(word))
                for name, value in (environment or {}).items():
                    h.call(lib.job_environment, job, as_bytes(name), as_bytes(value))
                if key is not None:
                    h.call(lib.job_key, job, as_bytes(key))
                number = ctypes.c_uint32()
                h.call(lib.submit, h.pointer, job, ctypes.byref(number))
                return number.value
            finally:
                lib.job_free(job)

    def wait(self, job_id, timeout=None):
        """Wait until the job has ended; its exit code, or the negative number of the signal that ended it.

        TimeoutError when it has not ended after `timeout` seconds."""
        status = ctypes.c_int()
        other = Handle(self.settings)  # a long wait keeps no other call waiting
        try:
            done = other.call(self.lib.wait, other.pointer, int(job_id), -1 if timeout is None else int(timeout * 1000),
                              ctypes.byref(status))
        finally:
            other.close()
        if not done:
            raise TimeoutError(f"job {job_id} has not ended")
        return os.waitstatus_to_exitcode(status.value)

    # ---- lists

    def _list(self, what, kind, fields, filters):
        h, lib = self.handle, self.lib
        names = kind.library_names(fields)
        query, row = ctypes.c_void_p(), ctypes.c_void_p()
        h.call(lib.query_new, h.pointer, what, ctypes.byref(query))
        try:
            for name, value in filters.items():
                if value is not None:
                    h.call(lib.query_filter, query, name.encode(), as_bytes(value))
            if names:
                h.call(lib.query_fields, query, ",".join(names).encode())
            while True:
                with h.lock:  # the row's text is gone with the next call
                    if not h.call(lib.query_next, query, ctypes.byref(row)):
                        return
                    text = lib.row_json(row)
                yield kind.from_library(json.loads(text))
        finally:
            with h.lock:
                if h.pointer:
                    lib.query_free(query)

    def jobs(self, *, fields=None, **filters):
        """The jobs, one by one: jobs(user="ann", state=["PENDING", "RUNNING"], fields=["id", "state"]).

        filters: job, user, state, partition, name, account, qos, node, reservation.  Fields that a record has not, or
        that were not asked for, are None."""
        return self._list(b"jobs", records.Job, fields, filters)

    def nodes(self, *, fields=None, name=None):
        return self._list(b"nodes", records.Node, fields, {"name": name})

    def partitions(self, *, fields=None, name=None):
        return self._list(b"partitions", records.Partition, fields, {"name": name})

    def job(self, job_id, *, fields=None):
        """One job; LookupError when the controller does not know it (any more)."""
        try:
            for job in self.jobs(job=job_id, fields=fields):
                return job
        except Refused as refused:
            raise LookupError(str(refused)) from refused
        raise LookupError(f"there is no job {job_id}")

    # ---- changes

    def _results(self):
        h, found = self.handle, []
        code, name, text = ctypes.c_int(), ctypes.c_char_p(), ctypes.c_char_p()
        while self.lib.result(h.pointer, len(found), ctypes.byref(code), ctypes.byref(name), ctypes.byref(text)) == 0:
            found.append((name.value.decode(), code.value, text.value.decode("utf-8", "replace")))
        return found

    def _change(self, function, *arguments):
        with self.handle.lock:
            try:
                self.handle.call(function, self.handle.pointer, *arguments)
            except Refused as refused:
                refused.results = self._results()
                raise

    def cancel(self, *job_ids):
        self._change(self.lib.cancel, as_bytes(job_ids))

    def signal(self, signal, *job_ids):
        """Send a signal ("USR1" or a number) to the steps of the jobs."""
        self._change(self.lib.signal, as_bytes(job_ids), as_bytes(getattr(signal, "value", signal)))

    def hold(self, *job_ids):
        self._change(self.lib.hold, as_bytes(job_ids))

    def release(self, *job_ids):
        self._change(self.lib.release, as_bytes(job_ids))

    def requeue(self, *job_ids):
        self._change(self.lib.requeue, as_bytes(job_ids))

    def _update(self, what, ids, keys):
        words = [f"{key}=".encode() + as_bytes(value) for key, value in keys.items()]
        self._change(self.lib.update, what, as_bytes(ids), (ctypes.c_char_p * (len(words) + 1))(*words, None))

    def update_job(self, job_ids, **keys):
        """Keys of `scontrol update`: update_job(12, TimeLimit=30, Priority=7)."""
        self._update(b"job", job_ids, keys)

    def update_node(self, names, **keys):
        self._update(b"node", names, keys)

    def update_partition(self, name, **keys):
        self._update(b"partition", name, keys)

    # ---- watching

    def watch(self, *, types=("job",), cursor=None, **filters):
        """Changes as they happen: `async for change in cluster.watch(user="ann")`, or `for` in a thread.

        types: job, node, partition; filters as those of jobs().  cursor: of a change, or Watch.cursor; the stream goes
        on behind it.  Nothing that happens behind start() is missed, also when the controller is restarted."""
        return Watch(Handle(self.settings), {"type": as_bytes(types), "cursor": cursor, **filters}, as_bytes)


__all__ = ["Cluster", "PenstockError"]
