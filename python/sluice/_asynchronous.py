"""Completions of asynchronous writes, as futures of asyncio.

Threads of the engine neither take the GIL nor know of event loops: they post outcomes to a
Completions, whose descriptor the loop watches. One wake-up of the loop takes all that has come.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

from . import _core

Begin = Callable[[_core.Completions, int], None]


class _Channel:
    """Of one event loop; used by its thread only."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._completions = _core.Completions()
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        loop.add_reader(self._completions.fileno(), self._take)

    def submit(self, loop: asyncio.AbstractEventLoop, begin: Begin) -> asyncio.Future[None]:
        future: asyncio.Future[None] = loop.create_future()
        number = next(self._ids)
        self._waiting[number] = future
        try:
            begin(self._completions, number)
        except BaseException:
            del self._waiting[number]
            raise
        return future

    def _take(self) -> None:
        for number, error in self._completions.take():
            # None if an interrupt came before anybody got the future. A future that is done was
            # cancelled: the write has taken effect or failed, but nobody asks.
            future = self._waiting.pop(number, None)
            if future is None or future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)


_lock = threading.Lock()
_channels: WeakKeyDictionary[asyncio.AbstractEventLoop, _Channel] = WeakKeyDictionary()


def submit(begin: Begin) -> asyncio.Future[None]:
    """The future of what begin(completions, id) sets under way. REQUIRES a running event loop."""
    loop = asyncio.get_running_loop()
    channel = _channels.get(loop)
    if channel is None:
        with _lock:
            # Futures that wait for ever would keep their closed loops, and these their channels.
            for closed in [other for other in _channels if other.is_closed()]:
                del _channels[closed]
            channel = _channels[loop] = _Channel(loop)
    return channel.submit(loop, begin)
