"""The cases: one for each feature, chosen combinations, and generated ones. Pure."""
# ruff: noqa: E501 - rows of names

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.neutrality.callers import CALLERS
from tests.neutrality.composing import features_of, fits, submits
from tests.neutrality.drivers import DRIVERS
from tests.neutrality.options import CALLS, EACH, EXITS_AS_INDEX, FLUX_OPTIONS, HET_RANKS, OPTIONS, RANKS
from tests.neutrality.outside import OUTSIDE
from tests.neutrality.practices import PRACTICES
from tests.neutrality.records import Case, Feature, Kind, Way
from tests.neutrality.scripts import BODIES, ENDS, INTERPRETERS

FEATURES = {
    feature.name: feature
    for feature in (
        *INTERPRETERS, *BODIES, *ENDS, *OPTIONS, *CALLS, *FLUX_OPTIONS, *OUTSIDE, *PRACTICES, *CALLERS, *DRIVERS, RANKS, HET_RANKS, EACH, EXITS_AS_INDEX
    )
}  # fmt: skip
# Which texts an option, an interpreter or an end is seen by.
_BY_LANGUAGE = {
    "sh": ("facts",), "zsh": ("zsh-facts",), "csh": ("csh-facts",), "python": ("python-facts",),
    "perl": ("perl-facts",), "awk": ("awk-program",), "text": ("plain-text",), "makefile": ("make-program",),
}  # fmt: skip
_BY_OPTION = {
    "array": ("each",), "call-array": ("each",), "mail-array": ("each",),
    "hetjob": ("het-ranks",), "packjob": ("het-ranks",),
    "nodes": ("facts", "ranks"), "ntasks": ("facts", "ranks"), "cpus": ("facts", "ranks"),
    "short": ("facts", "ranks"), "distribution": ("facts", "ranks"), "call-nodes": ("facts", "ranks"),
    "flux-nodes": ("facts", "flux-ranks"), "flux-output": ("says",), "output": ("says",), "chdir": ("facts", "where"), "input": ("standard-input",),
}  # fmt: skip
_MORE = (
    ("sh", "where"), ("dash", "message-lines"), ("sh", "syntax-error"), ("zsh", "exit-3"), ("csh", "exit-3"),
    ("python", "python-traceback"), ("bash-e", "errexit-stops"), ("bash-x", "functions"), ("sh-eu", "nounset-stops"),
    ("strict", "trap-exit", "exit-3"), ("trap-exit", "exec-command"), ("array", "each", "exit-3"),
    ("array-all-codes", "exits-as-index"), ("hetjob", "exit-3"), ("mail", "exit-3"), ("requeue", "exit-3"),
    ("exclusive", "ranks"), ("export-none", "ranks"), ("export-none", "srun-environment"), ("name-bytes", "latin-1"),
    ("chdir", "latin-1-file"), ("arguments", "sh", "facts"), ("nodes-2", "ranks", "exit-3"),
    ("ntasks-nodes", "dies-by-SEGV"), ("python", "python-dies"), ("output-error", "message-lines"),
    ("array-shared-output", "says"), ("input", "reads-on"), ("requeue", "own-sbatch"), ("nodes-2", "own-sbatch"),
    ("comment", "own-squeue"), ("name", "own-squeue"), ("redirects-itself", "exit-3"), ("exclusive", "cancelled-with-step"),
    ("env-bash", "environment-names", "facts"), ("python", "environment-names", "python-facts"), ("python", "export-none", "python-facts"),
    ("perl", "environment-names", "perl-facts"),
)  # fmt: skip


def _named() -> tuple[Case, ...]:
    cases = []
    for feature in FEATURES.values():
        if feature.name in ("each", "het-ranks", "ranks", "exits-as-index", "array-all-codes"):
            continue
        seen_by: tuple[str, ...] = ()
        if feature.kind is Kind.INTERPRETER:
            seen_by = _BY_LANGUAGE[feature.speaks[0]]
        elif feature.kind is Kind.OPTION:
            found = (texts for start, texts in _BY_OPTION.items() if feature.name.startswith(start))
            seen_by = next(found, ("facts",))
        elif feature.speaks[0] != "sh" and feature.kind is Kind.BODY and feature.speaks[0] != "bash":
            seen_by = (feature.speaks[0] if feature.speaks[0] != "text" else "tail",)
        elif feature.kind is Kind.END and feature.speaks[0] == "python":
            seen_by = ("python",)
        cases.append(Case(name=feature.name, features=(feature.name, *seen_by)))
    cases += [Case(name="+".join(names), features=names) for names in _MORE]
    return tuple(cases)


NAMED = _named()


# The part that ``make test`` runs: much in one job, since each job costs a second or two of a processor.
_TEXTS = (
    "facts",
    "where",
    "says",
    "functions",
    "pipes",
    "here-document",
    "standard-input",
    "line-numbers",
    "srun-one",
)
_BRIEF = {
    "run": (
        (*_TEXTS, "srun-environment", "child-with-steps", "message-lines", "reads-itself", "utf-8", "data-behind-end"),
        ("sh", "facts", "where", "message-lines", "syntax-error"), ("bash-l", "export-none", "facts", "ranks"),
        ("bash-x", "strict", "trap-exit", "exit-3"), ("zsh", "zsh-facts", "exit-3"), ("csh", "csh-facts", "exit-3"),
        ("python", "python-facts", "python-traceback"), ("export-some", "facts", "errexit-stops"),
        ("trap-exit", "exec-command"), ("background-left", "wait-n", "coproc", "redirects-itself", "exit-75"),
        ("carriage-returns", "latin-1", "latin-1-file", "dies-by-KILL"),
        ("chdir", "name-bytes", "comment", "output-error", "where", "facts", "says"),
        ("variable-requeue", "hold", "input", "standard-input"),
        ("ntasks-per-node", "gres", "licenses", "mail", "exclusive", "requeue", "facts", "ranks"),

        ("array-shared-output", "each", "says", "exits-as-index"), ("hetjob", "het-ranks", "exit-3"),
        ("trap-several",), ("signal-USR1",), ("cancelled",), ("cancelled-cleans-up",),
        ("batch-signal",), ("step-signal",), ("cancelled-with-step",), ("warned",),
        ("own-requeue-thrice",), ("requeued",), ("requeue-at-warning",), ("suspended",),
        ("dependents-failed",), ("preempted-requeue",), ("node-lost",),
    ),
    "exec": (
        (*_TEXTS, "own-sbatch", "message-lines"), ("ntasks-per-node", "facts", "ranks"), ("cancelled",),
        ("own-requeue-later",), ("arguments-bytes", "facts"), ("latin-1", "latin-1-file", "dies-by-SEGV"),
        ("array-shared-output", "says"), ("node-lost",),
    ),
    "front": (("submits-brief",),),
    "observe-nodes": (("ntasks-per-node", "ranks", "facts", "says"), ("own-requeue",), ("node-lost",)),
}  # fmt: skip


# What of it the embedded cluster runs besides: the launcher, signals and requeues are its own there.
LOCAL = tuple(
    Case(name="+".join(names), features=names)
    for names in (
        ("ntasks-per-node", "facts", "where", "says", "standard-input", "line-numbers", "ranks", "exit-3"),
        ("trap-several",), ("cancelled-cleans-up",), ("own-requeue",),
    )
)  # fmt: skip


# Further settings of what others of that part hold, by case and way: make test-all runs them.
BRIEF_VARIANTS = frozenset(
    [
        ("cancelled", "run"), ("step-signal", "run"), ("requeue-at-warning", "run"),
        ("latin-1+latin-1-file+dies-by-SEGV", "exec"), ("array-shared-output+says", "exec"),
        ("own-requeue", "observe-nodes"),
        ("bash-x+strict+trap-exit+exit-3", "run"), ("trap-exit+exec-command", "run"), ("zsh+zsh-facts+exit-3", "run"),
        ("cancelled-with-step", "run"), ("preempted-requeue", "run"), ("signal-USR1", "run"),
        ("ntasks-per-node+facts+ranks", "exec"), ("node-lost", "exec"),
    ]
)  # fmt: skip


def brief() -> dict[str, tuple[Case, ...]]:
    """Return the cases of that part, by the names of their ways."""
    return {
        way: tuple(Case(name="+".join(names), features=names) for names in cases)
        for way, cases in _BRIEF.items()
    }


def spread(cases: Sequence[Case], ways: Sequence[Way]) -> list[tuple[Case, Way]]:
    """Return each case in the two ways that most people take, and in one of the others, in turn.

    A program that submits jobs is run in its own way alone.
    """
    main = [way for way in ways if way.name in ("run", "exec")]
    front = [way for way in ways if way.command == "front"]
    others = [way for way in ways if way not in (*main, *front)]
    turn = [[*main, *others[at % max(len(others), 1) :][:1]] for at in range(len(cases))]
    return [
        (case, way)
        for case, chosen in zip(cases, turn, strict=True)
        for way in (front if submits(features_of(case, FEATURES)) else chosen)
    ]


def smaller(case: Case) -> tuple[Case, ...]:
    """Return the cases that lack one feature of a case, in an order in which a shrunk case is easy to read."""
    lists = (tuple(name for name in case.features if name != left_out) for left_out in case.features)
    return tuple(
        Case(name="+".join(names) or "bash", features=names) for names in lists if names and _valid(names)
    )


def _valid(names: tuple[str, ...]) -> bool:
    return fits(features_of(Case(name="", features=names), FEATURES))


def volatile(case: Case) -> tuple[str, ...]:
    """Return the aspects that two plain runs of a case may differ in."""
    globs = tuple(glob for feature in features_of(case, FEATURES) for glob in feature.volatile)
    # Who of a cancelled job's processes ends first, and can still tell of the others, is chance.
    cancelled = any(name.startswith("cancelled") for name in case.features)
    return (*globs, "messages:*", "file:slurm-*") if cancelled else globs


def generated(seed: int, count: int) -> tuple[Case, ...]:
    """Return so many combinations, the same for the same seed: an interpreter, options, texts, an end."""
    rng = random.Random(seed)
    by_kind: dict[Kind, list[Feature]] = {kind: [] for kind in Kind}
    for feature in FEATURES.values():
        # What takes long, or is done from outside, stands in cases of its own.
        if feature.seconds <= 10 and not feature.acts and not feature.ways:
            by_kind[feature.kind].append(feature)
    cases: list[Case] = []
    while len(cases) < count:
        chosen = [rng.choice(by_kind[Kind.INTERPRETER])]
        options = rng.sample(by_kind[Kind.OPTION], rng.randint(0, 3))
        chosen += _together(options)
        if any(option.name.startswith(("hetjob", "packjob")) for option in options):
            chosen = [FEATURES["bash"], *[o for o in options if o.name.startswith(("hetjob", "packjob"))][:1]]
        chosen += rng.sample(by_kind[Kind.BODY], rng.randint(1, 3))
        if rng.random() < 0.6:
            chosen.append(rng.choice(by_kind[Kind.END]))
        if fits(chosen):
            cases.append(
                Case(name=f"seed-{seed}-{len(cases)}", features=tuple(dict.fromkeys(f.name for f in chosen)))
            )
    return tuple(cases)


def _together(options: Sequence[Feature]) -> list[Feature]:
    """Return those that say different things: of two that give one option a value the first."""
    said: set[bytes] = set()
    kept: list[Feature] = []
    for option in options:
        words = {line.split(b"=")[0].split(b" ")[0] for line in option.header}
        words |= {word.split("=")[0].encode() for word in option.command}
        words = {word.replace(b"-node", b"-").replace(b"-N", b"--nodes") for word in words}
        if not said & words and not set(option.files) & {n for k in kept for n in k.files}:
            said |= words
            kept.append(option)
    return kept
