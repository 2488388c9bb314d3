"""One submission of several uploads of the same student: two clones of a repository, or a file for each topic.

Never decides between two different answers: a person does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from grader.course.due import moment
from grader.intake.sources import OneSource, Source
from grader.intake.submission import Arrival, Note, Submission
from grader.intake.topics import fingerprint
from grader.results import Unread
from grader.text import one_line

_NAMED = 5


@dataclass(frozen=True)
class SeveralSources(Source):
    """The uploads of one student, each under the name that it was found by."""

    parts: tuple[OneSource, ...]

    @property
    def longer_name(self) -> str:
        return self.parts[0].longer_name

    @property
    def names(self) -> list[str]:
        """The names of the uploads."""
        return [one_line(part.name) for part in self.parts]

    def read(self) -> Submission:
        return self.combined([part.read() for part in self.parts])

    def combined(self, read: Sequence[Submission]) -> Submission:
        """One submission of those that were read of the parts.

        The one with most answers counts, with the answers of the others to topics that it has none to. Different
        answers to one topic are none: the topic needs a look.
        """
        work = [self._answered(one) for one in read]
        first = max(range(len(read)), key=lambda at: (len(work[at]), bool(read[at].unread), -at))
        files, arrivals = dict(read[first].files), [read[first].arrival]
        unread = {one.topic: one for one in read[first].unread}
        notes = [self._note_on(first, any(work))]
        for topic in sorted(set().union(*work)):
            path = f"{topic}.py"
            having = [at for at in range(len(read)) if topic in work[at]]
            who = " and ".join(self.names[at] for at in having[:_NAMED])
            if len({fingerprint(read[at].files[path]) for at in having}) > 1:
                unread[topic] = Unread(topic, f"{path}: {who} differ; which one counts?")
            elif first not in having:
                other = read[having[0]]
                clash = _clash(files, other.files, self.topics.names)
                files = {**other.files, **files, path: other.files[path]}
                arrivals.append(other.arrival)
                notes.append(Note(path, f"taken from {who}"))
                unread.pop(topic, None)
                if clash:
                    unread[topic] = Unread(topic, f"{path}: {clash} of {self.names[first]} and of {who} differ")
        for name, one in zip(self.names, read, strict=True):
            for path, content in one.files.items():  # what a person marks: nothing of it is lost
                if not path.endswith(".py") and files.setdefault(path, content) != content:
                    files[f"{name}/{path}"] = content
                    notes.append(Note(path, f"that of {name} is not the same; which one counts?"))
        for lost in (lost for one in read for lost in one.unread if not any(lost.topic in there for there in work)):
            unread.setdefault(lost.topic, lost)
        notes += read[first].notes
        return Submission(self.name, files, tuple(notes), self._with_owner(arrivals), tuple(unread.values()))

    def _answered(self, one: Submission) -> set[str]:
        """The topics that the student has written something of, in a file that counts."""
        modules = {path[:-3]: content for path, content in one.files.items() if path.endswith(".py")}
        return {
            topic
            for topic, content in modules.items()
            if topic in self.topics.names and not self.topics.why_not_own(topic, content)
        }

    def _note_on(self, first: int, has_work: bool) -> Note:
        others = "; ".join([name for at, name in enumerate(self.names) if at != first][:_NAMED])
        why = "" if has_work else "; no answer is in any of them"
        return Note("./", f"handed in several times: {self.names[first]} counts, not {others}{why}")

    def _with_owner(self, arrivals: Sequence[Arrival]) -> Arrival:
        """The latest arrival, with what the class list says."""
        last = max(arrivals, key=lambda one: moment(one.submitted).timestamp() if one.submitted else 0.0)
        own = self.arrival
        last = replace(last, student=own.student, due=own.due)
        return replace(last, submitted=own.submitted, by=own.by) if own.submitted else last


def _clash(files: Mapping[str, bytes], others: Mapping[str, bytes], topics: frozenset[str]) -> str:
    """A file beside the topics' that is there twice and not the same; empty if there is none."""
    both = (path for path in sorted(files.keys() & others.keys()) if path.removesuffix(".py") not in topics)
    return next((path for path in both if files[path] != others[path]), "")
