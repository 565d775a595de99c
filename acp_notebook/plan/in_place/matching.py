"""Which entries of a file are which entries of a plan: they are few differences apart, often none."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from ..model import PlanEntry
from ..order import longest_rise

#: From this likeness of two texts on, one is the other reworded.
REWORDED = 0.5
#: With so many old entries at its place a new one is compared.
COMPARED = 8


def matches(old: Sequence[PlanEntry], new: Sequence[PlanEntry]) -> list[int | None]:
    """For each new entry the position of the old one that it was; None for one that was added.

    Entries are the same with the same id, or else the same text. What is left between two such may have been
    reworded.
    """
    found: list[int | None] = [None] * len(new)
    ids = {entry.id: position for position, entry in enumerate(old) if entry.id is not None}
    for position, entry in enumerate(new):
        if entry.id is not None:
            found[position] = ids.pop(entry.id, None)
    free = set(range(len(old))).difference(found)
    texts: defaultdict[str, deque[int]] = defaultdict(deque)
    for source in sorted(free):
        texts[old[source].content].append(source)
    for position, entry in enumerate(new):
        if found[position] is None and (same := texts[entry.content]):
            found[position] = same.popleft()
    free.difference_update(found)
    for positions, sources in _gaps(found, free):
        for position, source in _reworded(positions, sources, old, new):
            found[position] = source
    return found


def _gaps(found: Sequence[int | None], free: set[int]) -> list[tuple[list[int], list[int]]]:
    """Runs of new entries without a match, each with the free old ones at the same place."""
    gaps: list[tuple[list[int], list[int]]] = []
    for position, source in enumerate(found):
        if source is not None:
            continue
        if gaps and gaps[-1][0][-1] == position - 1:
            gaps[-1][0].append(position)
            continue
        before = found[position - 1] if position else None
        sources: list[int] = []
        at = 0 if before is None else before + 1
        while at in free:
            sources.append(at)
            at += 1
        gaps.append(([position], sources))
    return gaps


def _reworded(
    positions: list[int], sources: list[int], old: Sequence[PlanEntry], new: Sequence[PlanEntry]
) -> Iterable[tuple[int, int]]:
    """Pairs of a new and an old entry in such a gap: all in order if they are as many, else those alike."""
    if len(positions) == len(sources):
        return zip(positions, sources, strict=True)
    pairs: list[tuple[int, int]] = []
    for position in positions:
        for number, source in enumerate(sources[:COMPARED]):
            matcher = SequenceMatcher(None, old[source].content, new[position].content, autojunk=False)
            if matcher.quick_ratio() > REWORDED and matcher.ratio() > REWORDED:
                pairs.append((position, source))
                sources = sources[number + 1 :]
                break
    return pairs


def stay(sources: Sequence[int | None]) -> set[int]:
    """The old positions of as many entries as possible that keep their order; the others were moved."""
    old = [source for source in sources if source is not None]
    return {old[position] for position in longest_rise(old)}


def arranged(gaps: Sequence[str], chunks: Sequence[tuple[int | None, str]]) -> str:
    """New chunks between what stood between the old ones.

    `gaps` are what stood before each old chunk and, last, after all. Each new chunk comes with the position
    of the old one that it was, or None.
    """
    kept = stay([source for source, _ in chunks])
    parts = [gaps[0]]
    stood = 1
    for source, chunk in chunks:
        if source is not None and source in kept:
            parts += gaps[stood : source + 1]
            stood = max(stood, source + 1)
        parts.append(chunk)
    return "".join([*parts, *gaps[stood:]])
