"""What the widgets of the plugin have in common: a viewer, a session, a job bar."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import QWidget

from napari_roteq import _worker_process
from napari_roteq._errors import JobError
from napari_roteq._parts.canvas_guard import CanvasGuard
from napari_roteq._parts.job_bar import JobBar
from napari_roteq._session import Session
from napari_roteq._settings import read_settings


class DockWidget(QWidget):
    """A widget that is docked in a viewer.

    Parameters
    ----------
    napari_viewer : Viewer
        Where the layers are.
    session : Session, optional
        What it shares with the other widgets; the viewer's own by default.
    """

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__()
        self._viewer = napari_viewer
        self._session = session or Session.of(napari_viewer)
        self._guard = CanvasGuard(self, napari_viewer)


class JobWidget(DockWidget):
    """A docked widget that shows its jobs and their errors in a bar, `_bar`."""

    _bar: JobBar

    @property
    def is_running(self) -> bool:
        """Whether anything is still being computed."""
        return self._bar.is_running

    @property
    def error(self) -> JobError | None:
        """What went wrong last, if anything did."""
        return self._bar.error


def warm_up() -> None:
    """Start a compute process ahead of its first job, unless the user wants none."""
    if read_settings().warm_up:
        _worker_process.POOL.warm_up()
