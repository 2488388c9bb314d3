"""The sandbox of the student process: forks a child of the warm host that can reach nothing but its own work folder.

Layers that the system does not offer are left out and named; a child that cannot put on an active layer ends at once.
Must never let a child run with fewer layers than `Sandbox.layers` says.
"""

import contextlib
import os
import random
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, NoReturn

from grader import machine
from grader.sandbox import confinement, kernel, seccomp, view
from grader.sandbox.confinement import ConfinementPlan, LayerFailed
from grader.sandbox.limits import Limits
from grader.sandbox.process_tree import why_not_forked
from grader.sandbox.workspace import Workspace, remove_shared_memory

NOT_SANDBOXED = 86
"""Exit status of a child that could not put on every active layer; no submitted code has run."""
CHILD_RAISED = 87
"""Exit status of a child whose function raised."""

_NAMESPACES = ("pid-namespace", "net-namespace", "ipc-namespace", "mount-namespace")
_SPARE_IDS: Final = (range(0x7000_0000, 0x7FFF_FFFF), range(60_000, 65_000))
"""User ids that no system gives to anybody; the second where there are only 65,536, as in some containers."""
_ADVICE = {
    "uid": "start as full root, with a Python that every user may read",
    "user-namespace": "allow it (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0, "
    "Debian: sysctl kernel.unprivileged_userns_clone=1), or start as root",
    "landlock": "needs Linux 5.13 or newer, booted with landlock among its security modules (lsm=)",
    "seccomp": "needs a kernel with CONFIG_SECCOMP_FILTER",
    **dict.fromkeys(_NAMESPACES, "in a container: run it as an ordinary user, or add --cap-add SYS_ADMIN"),
}


def probe_layers() -> dict[str, str | None]:
    """Every layer that a full sandbox has here -> None when it works, else why not and how to get it, in one line.

    Each is really put on, in a process that is thrown away. Empty where nothing can be forked.
    """
    if why_not_forked():
        return {}
    with contextlib.closing(Sandbox(limits=Limits())) as sandbox:
        return dict(sandbox.reasons)


class Sandbox:
    """Forks sandboxed children of this process, one after another or side by side.

    Without a mount namespace the children share one work folder, which is emptied at each fork: one at a time then.

    Attributes:
        work: the child's current and only writable folder; same path inside and outside.
        reasons: layer -> None when active, else why not.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        hidden: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        without: Collection[str] = (),
        gpus: bool = False,
    ) -> None:
        """Try which layers work here, and prepare the plan for every child.

        Args:
            limits: of each child.
            hidden: files and folders that no child may see, wherever they lie.
            readable: files and folders that can be read besides the system, Python and its packages. Where a hidden
                and a readable path lie one within the other, the inner one counts. Files in /dev can be written too.
            without: layers not to use (to test or measure the others).
            gpus: whether children may use the machine's NVIDIA GPUs.
        """
        self._limits = limits
        self._gpus = gpus
        self._space = Workspace()
        self.work = self._space.work
        self._shown = view.python_view(hidden=hidden, readable=[*readable, *(machine.cuda_paths() if gpus else [])])
        self._fresh_proc = True
        self._spare_id = _spare_id()
        self.reasons: dict[str, str | None] = {n: "left out" if n in without else None for n in full_set()}
        self._settle()

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that every child gets."""
        return tuple(name for name, reason in self.reasons.items() if reason is None)

    def fork(self, child: Callable[[], None], keep_fds: Sequence[int]) -> int:
        """Run `child()` in a new sandboxed process.

        The process leaves with 0, `CHILD_RAISED` or `NOT_SANDBOXED`; it has its own session, its
        stdin, stdout and stderr lead to /dev/null, and it dies with this process.

        Args:
            keep_fds: descriptors that the child keeps.

        Returns:
            Its pid, for `os.waitpid` and `os.kill`. With a PID namespace, all that it forked dies with it.

        Raises:
            OSError: no process could be made.
        """
        if not self.layers:
            if pid := os.fork():
                return pid
            kernel.die_with_parent()
            kernel.adopt_orphans()
            _run(child)
        if "mount-namespace" not in self.layers:
            self._space.empty_work(self._plan.owner)
        self._remove_leftovers()
        return _fork(self._plan, child, keep_fds, errors=2)

    def close(self) -> None:
        """Remove the sandbox's folder. Children must have ended."""
        self._remove_leftovers()
        self._space.close()

    def _remove_leftovers(self) -> None:
        """Removes the shared memory of earlier children that others see too, if their user id is theirs alone."""
        if "uid" in self.layers and not {"mount-namespace", "ipc-namespace"} <= set(self.layers):
            remove_shared_memory(self._spare_id)

    def _settle(self) -> None:
        """Try a child with all layers; drop the one that fails, until a child works."""
        while self.layers:
            try:
                self._plan = self._make_plan()
                self._try(self._plan)
                return
            except LayerFailed as failed:
                if failed.layer == "mount-namespace" and self._fresh_proc:
                    self._fresh_proc = False  # a container may forbid a new /proc only
                    continue
                if failed.layer not in self.layers:  # it failed for another reason, so no layer can be trusted
                    self.reasons = dict.fromkeys(self.reasons, str(failed))
                    return
                advice = f"; {_ADVICE[failed.layer]}" if failed.layer in _ADVICE else ""
                self.reasons[failed.layer] = failed.reason + advice
                if failed.layer == "user-namespace":
                    self.reasons.update(dict.fromkeys(_NAMESPACES, f"needs a user namespace ({failed.reason})"))

    def _make_plan(self) -> ConfinementPlan:
        layers = self.layers
        own_root = "mount-namespace" in layers
        if "uid" in layers and not own_root and (closed := view.closed_to_others(self._shown.readable)):
            raise LayerFailed("uid", f"Python cannot be read by another user ({closed} is closed)")
        families = seccomp.socket_families(own_network="net-namespace" in layers, own_files=own_root)
        own_proc = own_root and self._fresh_proc and "pid-namespace" in layers
        return ConfinementPlan(
            layers=layers,
            limits=self._limits,
            root=str(self._space.root),
            work=str(self.work),
            owner=(self._spare_id, self._spare_id) if "uid" in layers else (os.geteuid(), os.getegid()),
            shown=self._shown,
            fresh_proc=self._fresh_proc,
            reading=tuple(self._shown.rules(str(self.work), own_root=own_root, own_proc=own_proc)),
            system_calls=seccomp.build(families=families),
            gpus=self._gpus,
        )

    def _try(self, plan: ConfinementPlan) -> None:
        """Puts the layers of a plan on a child that does nothing.

        Raises:
            LayerFailed: it could not put on one of them.
        """
        if "mount-namespace" not in plan.layers:
            with confinement.layer("uid"):
                self._space.empty_work(plan.owner)
        reader, writer = os.pipe()
        with open(reader, encoding="utf-8", errors="replace") as report:
            with open(writer, "wb"):
                pid = _fork(plan, lambda: None, (), errors=writer)
            name, _, reason = report.read().removeprefix("sandbox: ").strip().partition(": ")
        _, status = os.waitpid(pid, 0)
        if status:
            raise LayerFailed(name, reason or f"the process ended with status {status:#x}")


def _fork(plan: ConfinementPlan, child: Callable[[], None], keep_fds: Sequence[int], errors: int) -> int:
    """Runs `child()` in a new process with the layers of a plan; its pid. If one fails, `errors` gets a line."""
    host = os.pidfd_open(os.getpid())
    try:
        pid, helper = confinement.fork_into(plan.layers)
        if pid:
            return pid
        report = -1
        try:
            with contextlib.suppress(OSError):  # the host's standard error may be closed
                report = os.dup(errors)
            confinement.confine(plan, {*keep_fds, report} - {-1}, host=host, helper=helper)
        except BaseException as problem:
            os.write(report, f"sandbox: {problem}\n".encode(errors="replace"))
        else:
            with contextlib.suppress(OSError):
                os.close(report)
            _run(child)
        finally:
            os._exit(NOT_SANDBOXED)
    finally:
        os.close(host)


def full_set() -> tuple[str, ...]:
    """The layers of a full sandbox for this user on this system; none where no sandbox is supported."""
    if not kernel.SUPPORTED or why_not_forked():
        return ()
    user = "uid" if os.geteuid() == 0 else "user-namespace"
    return (user, *_NAMESPACES, "landlock", "seccomp", "rlimits", "clean-env")


def _spare_id() -> int:
    """An id for the submissions of one host: the kernel counts processes by user id, whoever started them.

    Where there are few ids, two hosts share one if their process numbers differ by a multiple of how many there are.
    """
    wide, narrow = _SPARE_IDS
    if all(_is_mapped(f"/proc/self/{kind}_map", wide) for kind in ("uid", "gid")):
        return random.SystemRandom().choice(wide)
    return narrow[os.getpid() % len(narrow)]


def _is_mapped(file: str, ids: range) -> bool:
    """Whether a user namespace, by such a file, has all of these ids."""
    with contextlib.suppress(OSError, ValueError):
        spans = [map(int, line.split()) for line in Path(file).read_text(encoding="ascii").splitlines()]
        return any(first <= ids.start and ids.stop <= first + count for first, _, count in spans)
    return False


def _run(child: Callable[[], None]) -> NoReturn:
    try:
        child()
    except BaseException:
        os._exit(CHILD_RAISED)
    os._exit(0)
