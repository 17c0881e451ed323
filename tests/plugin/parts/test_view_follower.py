import numpy as np
from napari.components import ViewerModel
from qtpy.QtCore import QObject

from napari_roteq._parts.view_follower import ViewFollower


def test_moves_are_told_once_at_rest_and_steps_at_once(qtbot):
    viewer = ViewerModel()
    viewer.add_image(np.zeros((5, 8, 8)))
    parent = QObject()
    follower = ViewFollower(viewer, parent)
    steps, rests = [], []
    follower.stepped.connect(lambda: steps.append(1))
    follower.rested.connect(lambda: rests.append(1))
    viewer.dims.set_current_step(0, 0)
    viewer.scene.camera.zoom = 3
    viewer.scene.camera.center = (0, 2, 2)
    assert (len(steps), len(rests)) == (1, 0)
    qtbot.waitUntil(lambda: bool(rests), timeout=5000)
    assert len(rests) == 1
