"""Parts of pages that are the same whenever they are shown again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from cachetools import LRUCache
from markupsafe import Markup

_MAX_FRAGMENTS = 1000


class FragmentCache:
    """Rendered parts of pages by what they depend on: versions and variants, which never change."""

    def __init__(self, max_fragments: int = _MAX_FRAGMENTS) -> None:
        self._lock = threading.Lock()
        self._fragments: LRUCache[Hashable, Markup] = LRUCache(max_fragments)

    def get(self, key: Hashable, render: Callable[[], str]) -> Markup:
        """The fragment of this key, rendered if it is new."""
        with self._lock:
            found = self._fragments.get(key)
        if found is None:
            # Two threads may render the same fragment at once; either may stay.
            found = Markup(render())
            with self._lock:
                self._fragments[key] = found
        return found
