"""Show the vector fields inside a model, its filters, and what turning does to it."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QVBoxLayout

from napari_roteq._errors import JobError, explain_exception
from napari_roteq._field.filters import FieldFilters
from napari_roteq._field.form import FieldForm
from napari_roteq._field.results import Drawing, FieldResults, FieldStyle
from napari_roteq._field.source import reader_around
from napari_roteq._field.turning import Turning
from napari_roteq._jobs import run_in_thread, run_planes
from napari_roteq._parts.copy_buttons import CopyButtons
from napari_roteq._parts.dock_widget import JobWidget, warm_up
from napari_roteq._parts.job_bar import leave_to_the_bar
from napari_roteq._parts.model_choice import no_model
from napari_roteq._parts.newest import Newest
from napari_roteq._parts.view_follower import ViewFollower
from napari_roteq._recipes import Recipe
from napari_roteq._running import RunningJob
from napari_roteq._segment.source import plan_work
from napari_roteq._session import ModelChoice, Session
from napari_roteq._settings import read_settings
from roteq_core.config import FieldOptions
from roteq_core.fields.layers import FieldLayer
from roteq_core.fields.placed import LayerField
from roteq_core.fields.turn_curve import TurnCurve


class FieldWidget(JobWidget):
    """Show the vector field of any layer and filter of a model. See `JobWidget`."""

    def __init__(self, napari_viewer: Any, *, session: Session | None = None) -> None:
        super().__init__(napari_viewer, session=session)
        self._results: FieldResults | None = None
        self._keeping: set[RunningJob] = set()  # fields on their way into the store
        self._is_stale = False  # something else was chosen while a job ran
        self._may_add = False  # whether a layer that is not there is made
        self._recipe: Recipe | None = None
        self._form = FieldForm(napari_viewer, self._session)
        self._bar = self._form.bar
        self._filters = FieldFilters(self._form)
        self._turning = Turning(self._bar, self._form.pages.show_curve)
        self._thinner = Newest(_choose, self)
        self._view = ViewFollower(napari_viewer, self)
        self._copy = CopyButtons(lambda: self._recipe)
        layout = QVBoxLayout(self)
        layout.addWidget(self._form)
        layout.addWidget(self._copy)
        self._connect()
        warm_up()

    def _connect(self) -> None:
        form = self._form
        form.start.clicked.connect(self._on_start)
        form.model.failed.connect(self._bar.show_error)
        form.model.model_changed.connect(lambda model: self._filters.show())
        form.field_changed.connect(self._on_choice)
        form.look.changed.connect(self._draw)
        form.pages.filters_opened.connect(self._on_filters)
        form.pages.add_filters.clicked.connect(self._on_add_filters)
        form.pages.turn.clicked.connect(self._on_turn)
        self._copy.failed.connect(self._bar.show_error)
        self._bar.running_changed.connect(self._on_running)
        self._thinner.ready.connect(self._on_chosen)
        self._view.stepped.connect(self._on_stepped)
        self._view.rested.connect(self._draw)

    def value(self) -> FieldOptions:
        """Give the options as chosen."""
        return self._form.value()

    def set_value(self, options: FieldOptions) -> None:
        """Show other options."""
        self._form.set_value(options)

    def set_filter(self, number: int) -> None:
        """Choose a filter of the layer."""
        self._form.set_filter(number)

    def set_style(self, style: FieldStyle) -> None:
        """Choose how the field is drawn."""
        self._form.look.set_value(style)

    def start(self) -> None:
        """Do what the button does."""
        self._form.start.click()

    def turn(self) -> None:
        """Do what the button "Turn the image" does."""
        self._form.pages.open_turn()
        self._form.pages.turn.click()

    def open_filters(self) -> None:
        """Bring the page of the filters to the front."""
        self._form.pages.open_filters()

    def open_model(self, path: str) -> None:
        """Choose a model, by its name or its file."""
        self._form.model.open_file(path)

    @property
    def is_running(self) -> bool:
        """Whether anything is still being computed."""
        is_drawing = bool(self._keeping) or self._thinner.is_busy
        return self._bar.is_running or is_drawing

    @property
    def curve(self) -> TurnCurve:
        """How answers have changed while the image was turned."""
        return self._turning.curve

    def _on_start(self) -> None:
        try:
            self._begin(*self._chosen())
        except (JobError, ValueError) as error:
            self._bar.show_error(explain_exception(error))

    def _chosen(self) -> tuple[Any, ModelChoice, FieldLayer]:
        """Give the image, the model and the layer; errors name what is missing."""
        image, model = self._form.image.layer(), self._form.model.model()
        if image is None:
            raise JobError("There is no image: open one with File ▸ Open.")
        if model is None:
            raise no_model("this")
        layer = self._form.layer()
        if layer is None:
            raise JobError(
                f"{model.name} has no vector fields: choose a model with rotating "
                "filters."
            )
        return image, model, layer

    def _begin(self, image: Any, model: ModelChoice, layer: FieldLayer) -> None:
        """Compute the field of the plane in view, unless it is known."""
        options, number = self.value(), self._form.filter()
        work = plan_work(self._viewer, image, self._form.part(), self._form.level())
        results = self._results
        if results is None or not results.fits(image, work, options, model):
            results = FieldResults(image, work, options, model, layer)
        self._results = results
        self._session.model = model
        self._may_add, self._is_stale = True, False
        if results.has(work.focus, number):
            self._draw()
            return
        self._session.log(results.recipe(number, work.focus))
        job = run_planes(
            "roteq_core.fields.compute:iter_field",
            reader_around(work.source, model, inverted=options.inverted),
            work.indices,
            options,
            filters=results.store.wanted(work.source.shape, number),
            focus=work.focus,
            on_plane=lambda index, found: self._keep(results, index, found),
            on_error=leave_to_the_bar,
            title="Computing the field",
        )
        self._bar.watch(job)

    def _keep(self, results: FieldResults, index: Any, found: LayerField) -> None:
        """Store a field, in a thread as it may go to disk; then draw."""

        def kept() -> None:
            self._keeping.discard(job)
            self._settle()

        job = run_in_thread(results.put, index, found, on_finished=kept)
        self._keeping.add(job)
        self.destroyed.connect(job.abandon)

    def _settle(self) -> None:
        """Show what has come, and the filters that belong to it."""
        self._draw()
        if not self._is_stale:
            self._on_filters()

    def _on_running(self, is_running: bool) -> None:
        self._form.set_running(is_running)
        if not is_running:  # another job may follow at once
            QTimer.singleShot(0, self._on_idle)

    def _on_idle(self) -> None:
        """See what was chosen while a job ran."""
        job = self._bar.job
        is_stopped = job is not None and job.is_stopped
        if self._is_stale and not self._bar.is_running and not is_stopped:
            self._on_choice()

    def _on_choice(self) -> None:
        """Another layer, member or filter: show it, once a first field was shown."""
        results = self._results
        self._filters.show()
        if results is None:
            return
        if self._bar.is_running:
            self._is_stale = True
        else:
            self._on_start()

    def _on_stepped(self) -> None:
        """Another plane is in view: show its field, computed if that is wanted."""
        results = self._results
        if results is None or results.is_area or self._bar.is_running:
            return
        if results.has(results.index_in_view(self._viewer), self._form.filter()):
            self._draw()
        elif self._form.follow.isChecked() and results.image in self._viewer.layers:
            self._on_start()

    def _draw(self) -> None:
        """Choose the arrows for the present view, in a thread."""
        results, number = self._results, self._form.filter()
        if results is None:
            return
        index, view = results.index_in_view(self._viewer), results.view(self._viewer)
        if view is not None and results.has(index, number):
            style, limit = self._form.look.value(), read_settings().vectors
            self._thinner.ask(results, index, number, view, style, limit)

    def _on_chosen(self, asked: tuple[Any, ...], drawing: Drawing) -> None:
        results: FieldResults = asked[0]
        if self._results is not results:
            return
        if results.show(self._viewer, drawing, add=self._may_add) is not None:
            self._may_add = False
            self._recipe = results.recipe(drawing.number, drawing.index)
        if not self._bar.is_running:
            self._after_drawing(results)

    def _after_drawing(self, results: FieldResults) -> None:
        """Go on with the slice in view, if it is another one by now."""
        index = results.index_in_view(self._viewer)
        if not results.has(index, self._form.filter()):
            self._on_stepped()

    def _on_filters(self) -> None:
        """The page of the filters was opened."""
        if not self._bar.is_running and not self._filters.is_current:
            self._filters.fetch(self._on_stepped)

    def _on_add_filters(self) -> None:
        try:
            self._filters.add_to(self._viewer)
        except (JobError, ValueError) as error:
            self._bar.show_error(explain_exception(error))

    def _on_turn(self) -> None:
        try:
            image, model, _ = self._chosen()
            options, level = self.value(), self._form.level()
            self._recipe = self._turning.start(
                self._viewer, image, level, options, model
            )
            self._session.log(self._recipe)
        except (JobError, ValueError) as error:
            self._bar.show_error(explain_exception(error))


def _choose(results: FieldResults, *wanted: Any) -> Drawing:
    return results.choose(*wanted)
