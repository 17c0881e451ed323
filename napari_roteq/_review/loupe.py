"""A loupe over the car under review, turned so that its front points up.

napari does not turn its flat view; here a car that points the wrong way leaps to the
eye, since all cars look alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from qtpy.QtCore import QPointF, QRectF, QSize, Qt
from qtpy.QtGui import QColor, QImage, QPainter, QPen, QPolygonF, QTransform
from qtpy.QtWidgets import QSizePolicy, QWidget

from napari_roteq._parts.newest import Newest
from napari_roteq._review.frame import Crop, Frame
from roteq_core.tables import Car, box_corners

_SPANNED = 2.2  # car lengths across
_LINE = 2.0  # pixels of the screen


class Loupe(QWidget):
    """Show a car large, with its box and an arrow from rear to front."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame: Frame | None = None
        self._car: Car | None = None
        self._has_front = False
        self._image: QImage | None = None
        self._place = (0, 0)
        self._is_turned = True
        self._color = QColor("#ffeb33")
        self._newest = Newest(_read, self)
        self._newest.ready.connect(self._on_read)
        self.setSizePolicy(
            QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding
        )
        self.setMinimumHeight(150)
        self.setToolTip("The car with its front up: a wrong one leaps to the eye")

    def sizeHint(self) -> QSize:
        """Leave room for what is below on a small screen."""
        return QSize(260, 210)

    @property
    def image(self) -> QImage | None:
        """The pixels that are shown, not turned."""
        return self._image

    def set_turned(self, is_turned: bool) -> None:
        """Turn the front up, or leave the image as it is."""
        self._is_turned = is_turned
        self.update()

    def show_car(self, frame: Frame | None, car: Car | None, has_front: bool) -> None:
        """Show another car, or none.

        Parameters
        ----------
        frame : Frame, optional
            Where it is.
        car : Car, optional
            With a size and a direction.
        has_front : bool
            Whether that direction is a heading, and not only an axis.
        """
        self._frame, self._car, self._has_front = frame, car, has_front
        self.update()
        if frame is None or car is None or not frame.has_pixels:
            self._image = None
            return
        reach = math.hypot(self.width(), self.height()) / 2 / self._zoom(car)
        if frame.is_lazy:
            self._newest.ask(frame, car.cx, car.cy, reach)
        else:
            self._take(frame, frame.crop(car.cx, car.cy, reach))

    def _on_read(self, args: tuple[Any, ...], crop: Crop | None) -> None:
        if self._frame is not None and args[0] is self._frame:
            self._take(self._frame, crop)

    def _take(self, frame: Frame, crop: Crop | None) -> None:
        self._image = None
        if crop is not None:
            pixels = np.ascontiguousarray(frame.shown(crop))
            height, width = pixels.shape[:2]
            form = QImage.Format.Format_RGB888
            image = QImage(pixels.tobytes(), width, height, 3 * width, form)
            self._image = image.copy()  # the bytes go
            self._place = crop.left, crop.top
        self.update()

    def transform(self) -> QTransform:
        """Give the way from the image's pixels to those of this widget."""
        assert self._car is not None
        zoom = self._zoom(self._car)
        turn = self._car.drawn_cw_from_up_deg or 0.0
        way = QTransform()
        way.translate(self.width() / 2, self.height() / 2)
        way.scale(zoom, zoom)
        if self._is_turned:
            way.rotate(-turn)
        way.translate(-self._car.cx, -self._car.cy)
        return way

    def _zoom(self, car: Car) -> float:
        side = max(min(self.width(), self.height()), 50)
        return side / (_SPANNED * (car.length or 1.0))

    def resizeEvent(self, event: Any) -> None:
        """Read as many pixels as are seen now."""
        super().resizeEvent(event)
        self.show_car(self._frame, self._car, self._has_front)

    def paintEvent(self, event: Any) -> None:
        """Draw the pixels, then the box and the arrow."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor("black"))
        if self._car is not None:
            hints = QPainter.RenderHint
            painter.setRenderHints(hints.Antialiasing | hints.SmoothPixmapTransform)
            painter.setTransform(self.transform())
            if self._image is not None:
                left, top = self._place
                size = QRectF(
                    left - 0.5, top - 0.5, self._image.width(), self._image.height()
                )
                painter.drawImage(size, self._image)
            self._draw_car(painter, self._car)
        painter.end()

    def _draw_car(self, painter: QPainter, car: Car) -> None:
        pen = QPen(self._color, _LINE)
        pen.setCosmetic(True)
        painter.setPen(pen)
        corners = [QPointF(x, y) for x, y in box_corners(car).tolist()]
        painter.drawPolygon(QPolygonF(corners))
        if self._has_front:
            front_left, rear_left, _, front_right = corners
            tip = (front_left + front_right) / 2
            back = (front_left - rear_left) * 0.18
            middle = tip + back
            painter.drawLine(front_left, middle)
            painter.drawLine(middle, front_right)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._color)
            painter.drawPolygon(QPolygonF([front_left, middle, front_right]))


def _read(frame: Frame, x: float, y: float, reach: float) -> Crop | None:
    return frame.crop(x, y, reach)
