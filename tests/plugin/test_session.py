import gc
import subprocess
import sys

from napari.components import ViewerModel
from napari.utils._proxies import PublicOnlyProxy

from napari_roteq import _session
from napari_roteq._recipes import Recipe
from napari_roteq._session import ModelChoice, Session


def test_every_proxy_of_a_viewer_has_the_same_session():
    viewer, other = ViewerModel(), ViewerModel()
    session = Session.of(viewer)
    assert Session.of(PublicOnlyProxy(viewer)) is session
    assert Session.of(PublicOnlyProxy(viewer)) is session
    assert Session.of(other) is not session


def test_a_session_ends_with_its_viewer():
    viewer = ViewerModel()
    Session.of(viewer)
    count = len(_session._sessions)
    del viewer
    gc.collect()
    assert len(_session._sessions) < count


def test_a_new_model_is_announced_once():
    session, heard = Session(), []
    session.model_changed.connect(heard.append)
    model = ModelChoice("membranes", "m.safetensors", {"pixel_size": 4})
    session.model = model
    session.model = ModelChoice("membranes", "m.safetensors", {"pixel_size": 4})
    assert heard == [model]
    session.model = None
    assert heard == [model, None]


def test_predictions_and_recipes_are_announced():
    session, predictions, recipes = Session(), [], []
    session.prediction_changed.connect(predictions.append)
    session.recipe_added.connect(recipes.append)
    session.prediction = "maps"
    session.log(Recipe("a:b"))
    assert predictions == ["maps"]
    assert session.prediction == "maps"
    assert session.recipes == recipes
    assert recipes[0].job == "a:b"


def test_two_sessions_do_not_hear_each_other():
    one, two, heard = Session(), Session(), []
    one.prediction_changed.connect(heard.append)
    two.prediction = 1
    assert heard == []


def test_no_qt_is_loaded():
    code = (
        "import sys, napari_roteq._session; "
        "print([m for m in sys.modules if m.startswith(('PyQt', 'PySide', 'napari.'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
