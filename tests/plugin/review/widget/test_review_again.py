"""Reviews one after another in a window that is drawn."""

import subprocess
import sys
import textwrap

import pytest
import review_scene

REVIEWING = """
    import faulthandler
    import sys
    import time
    import napari
    from qtpy.QtWidgets import QApplication

    faulthandler.enable()

    def look(seconds=0.5):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            QApplication.processEvents()
            time.sleep(0.01)

    viewer = napari.Viewer()
    viewer.open(sys.argv[1])
    dock, widget = viewer.window.add_plugin_dock_widget(
        "napari-roteq", "Review headings"
    )
    if "closed dock" in sys.argv:
        dock.setFloating(True)
    look()
    for count in range(2):
        widget.open_table(sys.argv[2])
        widget.start()
        assert widget.error is None, widget.error
        look()
        widget.run("accept")
        look()
        widget.save()
        if count == 0 or "closed dock" not in sys.argv:
            widget.finish()
        else:
            viewer.window.remove_dock_widget(dock)
        look()
        names = [layer.name for layer in viewer.layers]
        assert names == ["scene"], names
        print("reviewed", flush=True)
    viewer.add_shapes()
    look()
    viewer.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["docked", "closed dock"])
def test_second_review_is_drawn_as_the_first(tmp_path, way):
    image, table = review_scene.write_scene(tmp_path)
    code = textwrap.dedent(REVIEWING)
    done = subprocess.run(
        [sys.executable, "-c", code, str(image), str(table), way],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "reviewed\n" * 2), done.stderr
