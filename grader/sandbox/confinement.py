"""Confines a freshly forked student process, by its own calls, before any submitted code runs.

Must never return with a planned layer missing: every failure is raised, and the caller ends the process.
"""

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence

import msgspec

from grader.sandbox import kernel, landlock, limits, namespaces, seccomp, view
from grader.sandbox.namespaces import LayerFailed

NAMESPACE_FLAGS = {
    "net-namespace": kernel.CLONE_NEWNET,
    "ipc-namespace": kernel.CLONE_NEWIPC,
    "mount-namespace": kernel.CLONE_NEWNS,
}
_PROC_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime")


class ConfinementPlan(msgspec.Struct, frozen=True):
    """All that a child needs to confine itself, worked out once in the host."""

    layers: tuple[str, ...]
    limits: limits.Limits
    layout: namespaces.RootLayout
    reading: tuple[tuple[str, int], ...]
    """Landlock rules: (path, access rights)."""
    landlock_abi: int
    system_calls: bytes
    """The seccomp filter."""
    environment: dict[str, str]
    """Environment variables in addition to those that a clean environment always has."""
    gpus: bool = False
    """Whether the child may use the machine's GPUs."""


@contextlib.contextmanager
def layer(name: str) -> Iterator[None]:
    """Any exception inside becomes LayerFailed(name)."""
    try:
        yield
    except LayerFailed:
        raise
    except Exception as problem:
        raise LayerFailed(name, str(problem) or type(problem).__name__) from problem


def confine(plan: ConfinementPlan, keep_fds: Sequence[int], *, host: int, helper: int) -> None:
    """Puts every layer of the plan on this process.

    Args:
        keep_fds: descriptors that stay open; all others are closed, and 0, 1, 2 lead to /dev/null.
        host: a pidfd of the host: the process ends when the host does.
        helper: a pidfd of the process that forked this one, or -1 when that was the host.

    Raises:
        LayerFailed: nothing may run any more in this process.
    """
    _reset_session_and_signals()
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    if "clean-env" in plan.layers:
        with layer("clean-env"):
            _clean_environment(plan.layout.work, plan.environment)
    if "rlimits" in plan.layers:
        with layer("rlimits"):
            limits.apply(plan.limits, gpus=plan.gpus)
    _enter_namespaces(plan)
    ruleset = -1
    if "landlock" in plan.layers:
        with layer("landlock"):
            ruleset = landlock.build(plan.landlock_abi, plan.reading)
    for fd in {0, 1, 2}.difference(keep_fds):
        os.dup2(null, fd)
    kernel.close_all_but({0, 1, 2, *keep_fds} | {fd for fd in (host, helper, ruleset) if fd >= 0})
    kernel.drop_capability_bounds()
    if "uid" in plan.layers:
        with layer("uid"):
            uid, gid = plan.layout.owner
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    _die_with(host, helper)
    os.umask(0o077)
    os.chdir(plan.layout.work)
    if ruleset >= 0:
        with layer("landlock"):
            landlock.enter(ruleset)
            os.close(ruleset)
    if "seccomp" in plan.layers:
        with layer("seccomp"):
            seccomp.install(plan.system_calls)


def reading_rules(shown: view.View, *, work: str, own_root: bool, fresh_proc: bool) -> tuple[tuple[str, int], ...]:
    """The Landlock rules for a view: read what it shows, write the work folder and, in a root of our own, /dev/shm."""
    whole, listed = shown.rules()
    rules = [(path, landlock.DEVICE if path.startswith("/dev/") else landlock.READ) for path in whole]
    rules += [(path, landlock.READ_DIR) for path in listed]
    rules += [(device, landlock.DEVICE) for device in view.DEVICES]
    rules.append((work, landlock.WRITE))
    if own_root:
        rules.append(("/dev/shm", landlock.WRITE & ~landlock.EXECUTE))
    rules += [("/proc", landlock.READ)] if own_root and fresh_proc else [(p, landlock.READ) for p in _PROC_FILES]
    return tuple(rules)


def _reset_session_and_signals() -> None:
    os.setsid()
    for number in signal.valid_signals():
        wanted = signal.SIG_IGN if number in (signal.SIGPIPE, signal.SIGXFSZ) else signal.SIG_DFL
        with contextlib.suppress(OSError, ValueError):  # SIGKILL and SIGSTOP cannot be changed
            signal.signal(number, wanted)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)


def _clean_environment(work: str, more: dict[str, str]) -> None:
    os.environ.clear()
    kernel.wipe_initial_environment()
    os.environ.update(
        PATH="/usr/local/bin:/usr/bin:/bin",
        LANG="C.UTF-8",
        HOME=work,
        TMPDIR=work,
        PYTHONDONTWRITEBYTECODE="1",
        OMP_NUM_THREADS="1",
        GLOO_SOCKET_IFNAME="lo",
        **more,
    )
    sys.dont_write_bytecode = True
    tempfile.tempdir = None


def _enter_namespaces(plan: ConfinementPlan) -> None:
    for name, flag in NAMESPACE_FLAGS.items():
        if name in plan.layers:
            with layer(name):
                kernel.unshare(flag)
    if "net-namespace" in plan.layers:
        with layer("net-namespace"):
            namespaces.raise_loopback()
    if "mount-namespace" in plan.layers:
        with layer("mount-namespace"):
            namespaces.build_root(plan.layout)
    if "pid-namespace" not in plan.layers:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # its children stay below it, and the host finds them


def _die_with(host: int, helper: int) -> None:
    if helper >= 0:
        namespaces.wait_for_end(helper)  # from then on the host is the parent
    kernel.die_with_parent()
    if namespaces.has_ended(host):
        raise RuntimeError("the host has ended")
    os.close(host)
