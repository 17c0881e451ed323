"""The order of cars, a second reviewer, many cars, and what cannot be reviewed."""

import time
from dataclasses import replace

import numpy as np
import pytest
import review_scene
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication
from review_scene import settle

from roteq_core.tables import (
    Car,
    CarTable,
    read_cars,
    write_cars,
)


def test_order_and_filter(widget, press):
    panel, queue = widget._panel, widget.queue
    from napari_roteq._car_doubt import expected_error_deg

    errors = [expected_error_deg(queue.car(i)) for i in queue.ids]
    assert errors == sorted(errors, reverse=True)
    press("Space", "F")
    panel.queue.order.setCurrentText("Reading order")
    assert queue.current == "c00"
    panel.queue.shown.setCurrentText("To do")
    assert len(queue.ids) == 18
    panel.queue.shown.setCurrentText("Edited")
    assert len(queue.ids) == 1
    panel.queue.shown.setCurrentText("All cars")
    panel.queue.order.setCurrentText("Random sample")
    panel.queue.sample.setValue(5)
    panel.queue.sample.editingFinished.emit()
    assert len(queue.ids) == 5
    panel.queue.table.selectRow(3)
    assert queue.current == queue.ids[3]


def test_next_at_the_end_goes_to_what_was_skipped(widget, press):
    queue, message = widget.queue, widget._panel.message
    skipped, last = queue.ids[4], queue.ids[-1]
    for car_id in queue.ids[:-1]:
        if car_id != skipped:
            queue.accept(car_id)
    queue.go_to(last)
    press("Space")
    assert queue.current == last
    assert "1 before it is left: “Next” goes there" in message.text()
    press("N")
    assert queue.current == skipped
    press("Space", "N", "N")
    queue.go_to(last)
    press("N")
    assert queue.current == last
    assert "0 of the table are left" in message.text()


def test_second_reviewer_is_compared_and_disagreements_are_gone_to(
    widget, press, tmp_path
):
    others = list(widget.queue.table)
    flipped = others[3].with_heading(others[3].heading_cw_from_up_deg + 175)
    others[3] = flipped
    write_cars(CarTable((*others[:-1], Car(500, 20, 40, 18, 5))), tmp_path / "b.csv")
    view = widget._panel.agreement
    agreement = view.compare(str(tmp_path / "b.csv"))
    assert (agreement.flips, agreement.compared) == (1, 19)
    assert "mean difference <b>9.2°" in view.summary.text()
    assert view.list.count() == 3
    view.list.setCurrentRow(0)
    assert widget.queue.current == "c03"
    view.list.setCurrentRow(2)  # theirs alone: nothing to review, but to see
    settle(widget)


def many_cars(count, folder):
    table = review_scene.cars(count, columns=int(count**0.5) + 1)
    cars = [car.with_heading(car.heading_cw_from_up_deg, id="") for car in table]
    write_cars(CarTable(tuple(cars)), folder / "many.csv")
    return folder / "many.csv"


@pytest.mark.parametrize("count", [1000, 10_000])
def test_a_step_takes_less_than_a_tenth_of_a_second(
    viewer, open_widget, tmp_path, qtbot, press_start, count
):
    path = many_cars(count, tmp_path)
    side = 80 * (int(count**0.5) + 2)
    viewer.add_image(np.zeros((side, side), np.uint8), name="plain")
    widget = open_widget()
    widget._page.open_table(str(path))
    press_start(widget)
    canvas = viewer.window._qt_viewer.canvas.native
    steps = []
    for key in [Qt.Key.Key_Space, Qt.Key.Key_F, Qt.Key.Key_N] * 3:
        QApplication.processEvents()
        start = time.thread_time()
        qtbot.keyClick(canvas, key)
        widget.review.draw()
        widget._panel.loupe.grab()  # paints it, and not the whole window
        steps.append(time.thread_time() - start)
    assert widget.queue.stats().done >= 3
    assert np.median(steps) < 0.1
    viewer.reset_view()
    settle(widget)
    assert len(widget.review.layers.dots.data) == count
    assert len(widget.review.layers.arrows.data) <= 301


def test_without_anything_it_says_what_to_do(open_widget):
    widget = open_widget()
    widget._page.start.click()
    assert "choose boxes" in widget.error.sentence
    widget._page.open_table("/nowhere/cars.csv")
    widget._page.start.click()
    assert "no such table" in widget.error.sentence


def test_removing_a_layer_of_the_review_closes_it(viewer, scene, widget, press):
    press("F")
    viewer.layers.remove(widget.review.layers.box)
    settle(widget)
    assert widget.review is None
    assert [layer.name for layer in viewer.layers] == ["scene", "cars"]
    assert "1 action until" in widget._page.offer.text


def test_table_of_other_images_is_refused(viewer, open_widget, tmp_path):
    image, table = review_scene.write_scene(tmp_path)
    cars = (Car(60, 60, 40, 18, 10, file="a.png"), Car(9, 9, 4, 2, 1, file="b.png"))
    write_cars(CarTable(cars), table)
    viewer.open(image)
    widget = open_widget()
    widget._page.open_table(str(table))
    widget._page.start.click()
    assert "must name the image scene.png" in widget.error.sentence
    assert widget.review is None


def test_counts_of_all_images_say_so(viewer, open_widget, tmp_path, press_start):
    image, path = review_scene.write_scene(tmp_path)
    here = [replace(car, file="scene.png") for car in read_cars(path)]
    elsewhere = [replace(car, file="b.png", id=f"b{car.id}") for car in here[:5]]
    viewer.open(image)
    widget = open_widget()
    panel = widget._panel
    for cars, title, bar in (
        ([*here, *elsewhere], "1</b> of 20 here", "cars.csv, all images: %v of %m"),
        (here, "1</b> of 20", "cars.csv: %v of %m"),
    ):
        write_cars(CarTable(tuple(cars)), path)
        widget._page.open_table(str(path))
        press_start(widget)
        assert panel.title.text().endswith(title)
        assert panel.bar.format().startswith(bar)
        assert panel.bar.maximum() == len(cars)
        is_labelled = len(cars) > len(here)
        assert panel.progress.numbers.text().startswith("All images: ") == is_labelled
        assert panel.progress.caption.isHidden() != is_labelled
        widget.close_review()


def test_heading_without_a_direction_is_explained(
    viewer, open_widget, tmp_path, press_start
):
    image, table = review_scene.write_scene(tmp_path)
    write_cars(CarTable((Car(100, 100), Car(60, 60, 40, 18, 10))), table)
    viewer.open(image)
    widget = open_widget()
    widget._page.open_table(str(table))
    press_start(widget)
    assert widget.queue.current == "car-00001"
    widget.run("accept")
    assert "no heading yet" in widget.error.sentence
    assert widget.queue.stats().done == 0
    widget.finish()
    assert widget._page.error.text() == ""  # it was of a car, not of what to start
