"""Contract tests of workflow managers; all of ``whesl.managers.workflow`` pass them.

A test module makes a subclass of ``WorkflowManagerContract`` with ``manager`` and ``text``. Runs of wrapped
files by the manager's own program are tested where that program is installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from whesl.managers.workflow.port import FluxifyOptions, TellsScripts, WorkflowManager, text_of
from whesl.model.errors import UsageError
from whesl.model.workflow import Workflow

_OTHERS = ("", "hello\n", "{}\n", "[1, 2]\n", "\x00\x01", "#")


class WorkflowManagerContract:
    """Tests that any workflow manager has to pass."""

    # The content of a workflow file of this manager with at least one task, and the file's name.
    text = ""
    file = "study"
    # The manager's own command if it is needed to read a file; without it, tests that read are skipped.
    program = ""

    def read(self, manager: WorkflowManager, source: Path) -> Workflow:
        """Return the workflow of a file; skip the test where the manager's command is missing.

        Args:
            manager: the manager under test.
            source: the file.
        """
        if self.program and shutil.which(self.program) is None:
            pytest.skip(f"{self.program} is not on PATH")
        return manager.read([str(source)], workflow="w")

    @pytest.fixture
    def manager(self) -> WorkflowManager:
        """Return the manager under test."""
        raise NotImplementedError

    @pytest.fixture
    def source(self, manager: WorkflowManager, tmp_path: Path) -> Path:
        """Return the path of a file with the content ``text``.

        Args:
            manager: the manager under test.
            tmp_path: the directory for the file.
        """
        path = tmp_path / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text)
        path.chmod(0o755)
        return path

    @pytest.fixture
    def options(self, tmp_path: Path) -> FluxifyOptions:
        """Return the options of the wrapped tasks."""
        return FluxifyOptions(
            program=("/opt/whesl/bin/whesl",),
            workflow="w",
            spec="/home/u/rules.esl",
            home="/home/u/h",
            place=str(tmp_path),
        )

    def test_it_knows_its_own_files(self, manager: WorkflowManager, source: Path) -> None:
        assert manager.recognises(source, self.text)
        assert not any(manager.recognises(source.with_name("other"), text) for text in _OTHERS)

    def test_its_scripts_are_those_of_its_steps(self, manager: WorkflowManager, source: Path) -> None:
        steps = {task.step for task in self.read(manager, source).tasks}
        if isinstance(manager, TellsScripts):
            found = manager.scripts([str(source)])
            assert (set(found), all(text.startswith("#!") for text in found.values())) == (steps, True)

    def test_it_reads_each_task_once(self, manager: WorkflowManager, source: Path) -> None:
        found = self.read(manager, source)
        assert found.id == "w" and found.wms == manager.name and found.name
        assert found.tasks
        assert len({task.id for task in found.tasks}) == len(found.tasks)
        assert all(task.id.startswith("w/") and task.step and task.nodes >= 1 for task in found.tasks)
        known = {task.id for task in found.tasks}
        assert all(set(task.parents) <= known for task in found.tasks)

    def test_wrapping_twice_is_wrapping_once(
        self, manager: WorkflowManager, source: Path, options: FluxifyOptions
    ) -> None:
        made = manager.fluxify(self.text, source, options)
        assert made.text != self.text
        for program in made.programs:
            program.write()
        assert manager.fluxify(made.text, source, options).text == made.text

    def test_undoing_gives_every_byte_back(
        self, manager: WorkflowManager, source: Path, options: FluxifyOptions
    ) -> None:
        made = manager.fluxify(self.text, source, options)
        for program in made.programs:
            program.write()
        assert manager.undo(made.text, source) == self.text
        assert text_of(source) == self.text, "wrapping is pure"

    def test_a_wrapped_file_is_the_same_workflow(
        self, manager: WorkflowManager, source: Path, options: FluxifyOptions
    ) -> None:
        before = self.read(manager, source)
        made = manager.fluxify(self.text, source, options)
        for program in made.programs:
            program.write()
        source.write_text(made.text)
        assert manager.recognises(source, made.text)
        after = self.read(manager, source)
        assert [task.id for task in after.tasks] == [task.id for task in before.tasks]

    def test_what_is_none_is_refused(self, manager: WorkflowManager, tmp_path: Path) -> None:
        """A file that is no workflow, or is missing, is refused with a sentence."""
        with pytest.raises(UsageError):
            manager.read([str(tmp_path / "missing")])
