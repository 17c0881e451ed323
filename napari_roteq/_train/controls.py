"""The foot of the Train widget: start, resume, pause, stop, update labels."""

from __future__ import annotations

from qtpy.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from napari_roteq._parts.job_bar import JobBar


class TrainControls(QWidget):
    """The buttons that steer a training, and the bar that shows it."""

    def __init__(self) -> None:
        super().__init__()
        self.start = QPushButton("Start")
        self.resume = QPushButton("Resume")
        self.open_run = QPushButton("Open a run …")
        self.update_labels = QPushButton("Update labels")
        self.discard = QPushButton("Stop and discard")
        self.bar = JobBar(can_pause=True, stop_text="Stop and keep")
        tips = {
            self.start: "Check the data and train a model in a new run folder",
            self.resume: "Go on exactly where the run was stopped",
            self.open_run: "Resume a run of another day from its folder",
            self.update_labels: "Let the running training learn from what you have "
            "labelled since it began",
            self.discard: "End the training and remove its run folder",
        }
        for button, tip in tips.items():
            button.setToolTip(tip)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(_row(self.start, self.resume, self.open_run))
        layout.addWidget(self.bar)
        layout.addLayout(_row(self.update_labels, self.discard))
        self.set_state(is_busy=False, is_training=False, can_resume=False)

    def set_state(
        self,
        *,
        is_busy: bool,
        is_training: bool,
        can_resume: bool,
        can_update: bool = False,
    ) -> None:
        """Offer only what makes sense now."""
        self.start.setEnabled(not is_busy)
        self.open_run.setEnabled(not is_busy)
        self.resume.setEnabled(not is_busy and can_resume)
        self.update_labels.setEnabled(is_training and can_update)
        self.discard.setEnabled(is_training)


def _row(*buttons: QPushButton) -> QHBoxLayout:
    row = QHBoxLayout()
    for button in buttons:
        row.addWidget(button)
    return row
