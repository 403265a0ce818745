"""Streams of changes, for loops of threads and of asyncio."""

import asyncio
import ctypes
import json
from dataclasses import dataclass
from datetime import datetime, timezone

from . import records

KINDS = {"job": records.Job, "node": records.Node, "partition": records.Partition}


@dataclass(frozen=True)
class Change:
    """One change.  before and after hold the fields that changed; the others are None.

    event "reset": the log no longer reaches back to the cursor.  List anew; the stream goes on from now."""

    event: str
    type: str
    id: int
    time: datetime
    cursor: str
    before: object
    after: object


class Watch:
    """An iterator and an async iterator of Change.  One reader at a time; a with statement closes it."""

    def __init__(self, handle, settings, as_bytes):
        self.handle, self.lib = handle, handle.lib
        self.watch = ctypes.c_void_p()
        self.seen = ""
        handle.call(self.lib.watch_new, handle.pointer, ctypes.byref(self.watch))
        try:
            for name, value in settings.items():
                if value is not None:
                    handle.call(self.lib.watch_set, self.watch, name.encode(), as_bytes(value))
        except BaseException:
            self.close()
            raise

    def close(self):
        with self.handle.lock:
            if self.watch:
                self.lib.watch_free(self.watch)
            self.watch = ctypes.c_void_p()
            self.handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    @property
    def cursor(self):
        """Behind the last change that was given: watch(cursor=...) goes on there.  "" before the stream has begun."""
        with self.handle.lock:
            if self.watch:
                self.seen = self.lib.watch_cursor(self.watch).decode()
            return self.seen

    def _record(self, kind, row):
        return kind.from_library(json.loads(self.lib.row_json(row)))

    def _taken(self, change):
        lib, kind = self.lib, KINDS.get(self.lib.change_type(change).decode())
        return Change(lib.change_event(change).decode(), lib.change_type(change).decode(), lib.change_id(change),
                      datetime.fromtimestamp(lib.change_time_us(change) / 1e6, timezone.utc), self.cursor,
                      self._record(kind, lib.change_before(change)) if kind else None,
                      self._record(kind, lib.change_after(change)) if kind else None)

    def next(self, timeout=None):
        """The next change, None when there is none in `timeout` seconds (None: wait for ever)."""
        change = ctypes.c_void_p()
        with self.handle.lock:
            if not self.watch:
                raise ValueError("the watch was closed")
            ms = -1 if timeout is None else int(timeout * 1000)
            return self._taken(change) if self.handle.call(self.lib.watch_next, self.watch, ms, ctypes.byref(change)) else None

    def start(self, timeout=None):
        """Wait until it is agreed where the stream begins: what happens afterwards is told.  TimeoutError."""
        with self.handle.lock:
            if not self.handle.call(self.lib.watch_start, self.watch, -1 if timeout is None else int(timeout * 1000)):
                raise TimeoutError("the controller cannot be reached")
        return self

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            change = self.next(0.5)  # Ctrl-C is heard between
            if change:
                return change

    # ---- asyncio: calls are made on another thread, since connecting may take a moment

    async def _wait_until(self, ready):
        """Ask ready() whenever the stream's descriptor says so, until it gives something."""
        loop, readable, fd = asyncio.get_running_loop(), asyncio.Event(), self.lib.watch_fd(self.watch)
        while True:
            found = await asyncio.to_thread(ready)
            if found:
                return found
            loop.add_reader(fd, readable.set)
            try:
                await readable.wait()
            finally:
                loop.remove_reader(fd)
            readable.clear()

    def _started(self):
        try:
            return self.start(0)
        except TimeoutError:
            return None

    async def __aenter__(self):
        """Begun, as by start()."""
        return await self._wait_until(self._started)

    async def __aexit__(self, *exc):
        await asyncio.to_thread(self.close)

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self._wait_until(lambda: self.next(0))
