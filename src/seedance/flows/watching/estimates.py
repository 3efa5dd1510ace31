"""Ends that nobody saw: guessed from what is known, and corrected while samples still arrive.

The flow: an object that is gone ended between the last sight of it and now. The best guess is the
newest of the last sight, the last instant that the object itself told, and for a pod its last
sample, up to the creation of another pod that took its name. Senders keep samples back while they
cannot deliver, so a guess is looked at again after 1, 2, 4 … minutes, for an hour, also by the
process that follows this one. A node cannot have ended before the pods that ran on it.

Not thread-safe; part of an `Inventory`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from seedance.facts.inventory import ObjectVersion, Uid
from seedance.flows.watching.ledger import End, Ledger

CORRECTED_FOR = timedelta(hours=1)
"""How long an estimated end follows samples that arrive late."""

_FIRST_CORRECTION = timedelta(minutes=1)

Name = tuple[str, str]
"""Namespace and name of an object."""

LastSamples = Callable[[Collection[Name], datetime, datetime | None], dict[Name, datetime]]
"""The last sample of each of some pods before an instant and (if given) after another."""


@dataclass(frozen=True, slots=True)
class _Guess:
    """An end guessed at `noticed` that was before `before`; it is looked at again at `due`."""

    version: ObjectVersion
    before: datetime
    noticed: datetime
    due: datetime

    @property
    def name(self) -> Name:
        return self.version.namespace, self.version.name

    @property
    def end(self) -> datetime:
        return self.version.valid_to or self.before


class Estimates:
    """The ends of one cluster's objects that were guessed and may still move."""

    def __init__(self, ledger: Ledger, last_samples: LastSamples) -> None:
        self._ledger = ledger
        self._last_samples = last_samples
        self._guesses: list[_Guess] = []
        self._left: dict[str, datetime] = {}  # by node: the last guessed end of a pod on it

    def end(
        self, kind: str, missing: Collection[Uid], *, sight: datetime | None, noticed: datetime
    ) -> None:
        """End objects that live in the ledger, unseen between `sight` and `noticed`."""
        names = {uid: self._ledger.named(uid) for uid in missing}
        heirs = self._ledger.births(but=missing) if kind == "Pod" and missing else {}
        limits = {uid: min(noticed, heirs.get(name, noticed)) for uid, name in names.items()}
        for limit, uids in _grouped(limits.items()).items():
            wanted = {names[uid] for uid in uids}
            samples = self._last_samples(wanted, limit, sight) if kind == "Pod" else {}
            for uid in uids:
                told = self._ledger.facts_until(uid, limit)
                at = max(told, min(sight or told, limit), samples.get(names[uid], told))
                version = self._ledger.end(uid, End(at, "estimated"))
                self._keep(_Guess(version, limit, noticed, noticed + _FIRST_CORRECTION))

    def resume(
        self, ended: Iterable[tuple[ObjectVersion, datetime | None]], *, now: datetime
    ) -> None:
        """Go on with ends that an earlier process guessed, each with the heir of its name."""
        for version, heir in ended:
            self._keep(_Guess(version, heir or now, now, now + _FIRST_CORRECTION))

    def correct(self, *, now: datetime) -> int:
        """Move the ends that are due to samples that arrived since; returns how many moved."""
        due = [guess for guess in self._guesses if guess.due <= now]
        self._guesses = [guess for guess in self._guesses if guess.due > now]
        pods = [guess for guess in due if guess.version.kind == "Pod"]
        others = [guess for guess in due if guess.version.kind != "Pod"]
        moved = 0
        for before, together in _grouped((guess, guess.before) for guess in pods).items():
            since = min(guess.end for guess in together)
            samples = self._last_samples({guess.name for guess in together}, before, since)
            for guess in together:
                moved += self._move(guess, samples.get(guess.name, guess.end), now)
        # After the pods, whose ends bound those of their nodes.
        for guess in others:
            left = self._left.get(guess.version.name, guess.end)
            moved += self._move(guess, min(left, guess.before), now)
        return moved

    def _move(self, guess: _Guess, at: datetime, now: datetime) -> bool:
        """Move one end if it is later now, and keep it for the next look."""
        later = at > guess.end
        if later:
            moved = self._ledger.correct(guess.version, at)
            if moved is None:
                return False
            guess = replace(guess, version=moved)
        age = max(now - guess.noticed, _FIRST_CORRECTION)
        if age < CORRECTED_FOR:
            self._keep(replace(guess, due=now + age))
        elif not self._guesses:
            self._left.clear()
        return later

    def _keep(self, guess: _Guess) -> None:
        if guess.version.kind == "Pod":
            node = guess.version.doc.get("node", "")
            self._left[node] = max(guess.end, self._left.get(node, guess.end))
        elif guess.version.kind != "Node":
            return
        self._guesses.append(guess)


_Item = TypeVar("_Item")


def _grouped(pairs: Iterable[tuple[_Item, datetime]]) -> dict[datetime, list[_Item]]:
    groups: dict[datetime, list[_Item]] = {}
    for item, instant in pairs:
        groups.setdefault(instant, []).append(item)
    return groups
