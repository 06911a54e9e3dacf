"""A window of the browser, and what its pages did that they should not have done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Window:
    """A page that may ask for some addresses; `faults` has everything else that it asked for, said or failed at."""

    def __init__(self, page: Any, allowed: Callable[[str], bool]) -> None:
        self.faults: list[str] = []
        self.page, self.context, self._allowed = page, page.context, allowed
        self._heard = {
            "console": lambda message: self.faults.append(f"console: {message.text}"),
            "pageerror": lambda fault: self.faults.append(f"error: {fault}"),
            "dialog": lambda dialog: (self.faults.append("dialog"), dialog.dismiss()),
        }
        for event, listener in self._heard.items():
            page.on(event, listener)
        page.route("**/*", self._asked)

    def _asked(self, route: Any) -> None:
        if self._allowed(route.request.url):
            route.continue_()
        else:
            self.faults.append(f"request: {route.request.url}")
            route.abort()

    def close(self) -> None:
        """Leave the page to the next one."""
        for event, listener in self._heard.items():
            self.page.remove_listener(event, listener)
