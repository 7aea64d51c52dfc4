"""What of a recording counts as waiting for data."""

from __future__ import annotations

from autograder.traces.events import LOADER, Events, Kind
from autograder.traces.stretch import main_thread


def loading(events: Events) -> Events:
    """Return when the training thread waited for its DataLoader."""
    spans = events.of(Kind.MARK).named(LOADER)
    main = main_thread(events)
    return spans.where(spans.track == main) if main >= 0 else spans
