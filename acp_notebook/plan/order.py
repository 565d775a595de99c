"""What keeps its order where things have been moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def longest_rise(numbers: Sequence[int]) -> list[int]:
    """The positions, last first, of a longest rising subsequence: what stays while the others go around it.

    The numbers are all different.
    """
    ends: list[int] = []  # the lowest number that a rise of each length can end with, and its position
    at: list[int] = []
    before: list[int] = []
    for position, number in enumerate(numbers):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        at[length : length + 1] = [position]
        before.append(at[length - 1] if length else -1)
    rise: list[int] = []
    position = at[-1] if at else -1
    while position >= 0:
        rise.append(position)
        position = before[position]
    return rise
