"""Finding cars: peaks, suppression, matching, and whole images."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from roteq_core.cars.find_cars import (
    iter_detections,
    iter_find_cars,
    join_detections,
    likely_length,
    threshold_for,
    working_lengths,
)
from roteq_core.config import FindOptions, TrainConfig
from roteq_core.jobs import drain
from roteq_core.model import load_model, make_model, with_card
from roteq_core.net_config import CarFinderNetConfig, TurningConfig
from roteq_core.networks import build_network
from roteq_core.synthetic import aerial_scene
from roteq_core.tables import Car
from roteq_core.tasks.car_detections import (
    CELL,
    Detections,
    detections_from_maps,
    match_cars,
    suppress,
)
from roteq_core.tasks.car_finder import CarFinderTask, best_f1, best_threshold
from roteq_core.tasks.car_scenes import scene_from_cars

SMALL = CarFinderNetConfig(
    filters=(2, 3),
    kernel_size=3,
    hidden=4,
    offsets=2,
    turning=TurningConfig(8, frequencies=2),
)


def heat(places, size=20, length=20.0, angle=0.3) -> np.ndarray:
    """Maps (4, size, size) with a soft peak at each (row, column, height)."""
    rows, columns = np.mgrid[:size, :size]
    planes = np.zeros((4, size, size))
    for row, column, height in places:
        distance = (rows - row) ** 2 + (columns - column) ** 2
        planes[0] = np.maximum(planes[0], height * np.exp(-distance / 2))
    planes[1], planes[2], planes[3] = length, np.cos(angle), np.sin(angle)
    return planes


def test_peaks_are_found_between_cells():
    found = detections_from_maps(heat([(5.3, 8.0, 0.9)]), threshold=0.3)
    assert len(found.scores) == 1
    x, y = found.centers[0]
    assert x == pytest.approx(8 * CELL + 1.5, abs=0.1)
    assert 5 * CELL + 1.5 < y < 5.6 * CELL + 1.5


def test_centers_are_where_the_network_says():
    planes = np.concatenate([heat([(5, 8, 0.9)]), np.zeros((2, 20, 20))])
    planes[4:, 5, 8] = 0.5, -0.25
    found = detections_from_maps(planes, threshold=0.3)
    np.testing.assert_allclose(found.centers, [[8.5 * CELL + 1.5, 4.75 * CELL + 1.5]])
    planes[4:, 5, 8] = 40, 0  # no center is that far from its peak
    found = detections_from_maps(planes, threshold=0.3)
    assert found.centers[0, 0] == 9.5 * CELL + 1.5


def test_only_peaks_above_the_threshold_count_and_the_best_come_first():
    places = [(4, 4, 0.5), (4, 15, 0.9), (15, 4, 0.1)]
    found = detections_from_maps(heat(places), threshold=0.3)
    np.testing.assert_allclose(found.scores, [0.9, 0.5])


def test_nothing_is_found_on_empty_ground():
    found = detections_from_maps(heat([]), threshold=0.3)
    assert found.centers.shape == (0, 2)


def pair(gap, angle) -> Detections:
    centers = np.array([[50.0, 50.0], [50.0 + gap[0], 50.0 + gap[1]]])
    return Detections(
        centers, np.full(2, 20.0), np.full(2, angle), np.array([0.9, 0.8])
    )


def test_two_parked_cars_side_by_side_are_two_but_one_behind_the_same_car_is_not():
    side_by_side, lengthwise = (0.0, 10.0), (10.0, 0.0)
    assert len(suppress(pair(side_by_side, 0.0)).scores) == 2
    assert len(suppress(pair(lengthwise, 0.0)).scores) == 1
    # The same cars, the image turned by a quarter.
    assert len(suppress(pair(lengthwise, np.pi / 2)).scores) == 2


@pytest.mark.parametrize("turn", [0.3, 1.1, 4.0])
def test_suppression_turns_with_the_image(turn):
    rng = np.random.default_rng(3)
    centers = rng.uniform(0, 150, (60, 2))
    scores = np.sort(rng.random(60))[::-1]
    angle = rng.uniform(0, 6, 60)
    upright = suppress(Detections(centers, np.full(60, 20.0), angle, scores))
    matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    turned = suppress(
        Detections(centers @ matrix, np.full(60, 20.0), angle + turn, scores)
    )
    np.testing.assert_allclose(turned.scores, upright.scores)
    assert len(upright.scores) < 60


def test_a_car_is_matched_once_and_doubtful_ones_do_not_count():
    found = Detections(
        np.array([[10.0, 10], [11, 10], [50, 50], [90, 90]]),
        np.full(4, 20.0),
        np.zeros(4),
        np.array([0.9, 0.8, 0.7, 0.6]),
    )
    cars = np.array([[10.0, 11, 20, 0]])
    doubtful = np.array([[50.0, 52, 20]])
    np.testing.assert_array_equal(match_cars(found, cars, doubtful), [1, 0, -1, 0])
    np.testing.assert_array_equal(match_cars(found, cars[:0]), [0, 0, 0, 0])


def test_the_best_threshold_balances_misses_and_false_alarms():
    rows = [(np.array([0.9, 0.8, 0.2]), np.array([1, 1, 0]), 2)]
    assert best_f1(rows) == (1.0, 0.8)
    assert best_f1([(np.zeros(0), np.zeros(0), 3)]) == (0.0, 1.0)


def test_one_threshold_suits_several_domains_as_well_as_it_can():
    strict = [(np.array([0.9, 0.6, 0.55]), np.array([1, 0, 0]), 1)]
    shy = [(np.array([0.7, 0.3, 0.2]), np.array([1, 1, 0]), 2)]
    assert best_f1(shy) == (1.0, 0.3)
    # Above 0.6 the first is perfect, and up to 0.7 the second finds one of two.
    assert 0.6 < best_threshold([strict, shy]) < 0.7
    assert 0.2 < best_threshold([shy]) <= 0.3


def small_scene():
    scene = aerial_scene((96, 96), seed=4, style="carpark", car_length_px=(20, 22))
    cars = [
        Car(c.cx, c.cy, c.length, c.width, c.heading_cw_from_up_deg) for c in scene.cars
    ]
    return scene.image, cars


def test_a_few_steps_lower_the_loss_and_the_scene_is_scored():
    image, cars = small_scene()
    scene = scene_from_cars(image, cars)
    task = CarFinderTask([scene], [scene], network=SMALL)
    config = TrainConfig(batch=2, crop=64, intensity=0)
    torch.manual_seed(0)
    network = build_network(SMALL)
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    batch = task.batch(config, np.random.default_rng(0))
    losses = []
    for _ in range(40):
        loss, _ = task.loss(network, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    scores = task.validate(network.eval(), torch.device("cpu"))
    assert 0 <= scores["real_f1"] <= 1


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    torch.manual_seed(1)
    network = build_network(SMALL).eval()
    with torch.no_grad():
        network.decide.weight *= 10
        network.decide.bias[0] = 0.0
    path = tmp_path_factory.mktemp("models") / "finder.safetensors"
    make_model([network], name="tiny-finder", task="car-finder").save(path)
    return str(path)


def found_in(image, model, **options) -> Detections:
    settings = FindOptions(model=model, threshold=0.05, **options)
    return drain(iter_detections(load_model(model), image, settings))


def test_tiles_change_nothing(model):
    large = aerial_scene((160, 192), seed=6, car_length_px=(20, 22)).image
    whole = found_in(large, model, car_length_px=20)
    tiled = found_in(large, model, car_length_px=20, tile=64)
    assert len(whole.scores) > 5
    np.testing.assert_allclose(tiled.centers, whole.centers, atol=1e-3)
    np.testing.assert_allclose(tiled.scores, whole.scores, atol=1e-4)


def test_a_quarter_turn_of_the_image_turns_what_is_found(model):
    image, _ = small_scene()
    upright = found_in(image, model, car_length_px=20)
    turned = found_in(np.rot90(image, -1), model, car_length_px=20)
    back = np.stack([turned.centers[:, 1], 95 - turned.centers[:, 0]], 1)
    assert len(back) == len(upright.centers) > 0
    order = np.lexsort(np.round(back, 1).T)
    expected = np.lexsort(np.round(upright.centers, 1).T)
    np.testing.assert_allclose(back[order], upright.centers[expected], atol=0.05)


def test_tables_of_found_cars_have_scores_and_sizes(model):
    image, _ = small_scene()
    options = FindOptions(model=model, threshold=0.05, car_length_px=20, orient=False)
    table = drain(iter_find_cars(image, options))
    assert len(table) > 0
    car = table.cars[0]
    assert car.score >= table.cars[-1].score
    assert car.length > car.width > 0
    assert car.source.startswith("tiny-finder ")


def test_scales_are_joined_and_each_car_is_kept_once():
    one, other = pair((0.0, 40.0), 0.0), pair((0.0, 41.0), 0.0)
    joined = join_detections([one, other], most=10)
    assert len(joined.scores) == 2
    assert len(join_detections([one, other], most=1).scores) == 1


def found(lengths, score):
    count = len(lengths)
    places = np.zeros((count, 2))
    return Detections(
        places, np.array(lengths, float), np.zeros(count), np.full(count, score)
    )


def test_the_likely_length_is_where_sure_cars_agree():
    odd = found([14, 15, 19, 22, 30, 31], 0.35)
    good = found([35, 36, 36, 37], 0.8)
    assert likely_length([odd, good], (20.0, 33.0)) == pytest.approx(36, rel=0.05)


def test_lengths_other_than_those_looked_for_do_not_count():
    wrong = found([60] * 20, 0.9)
    good = found([22, 23], 0.5)
    assert likely_length([wrong, good], (20.0, 25.0)) == pytest.approx(22.5, rel=0.05)
    assert likely_length([wrong], (20.0,)) == 20.0


def test_a_pixel_size_says_how_long_cars_are():
    assert working_lengths(FindOptions(pixel_size_m=0.1)) == (45.0,)
    assert working_lengths(FindOptions(car_length_px=30)) == (30.0,)
    assert len(working_lengths(FindOptions())) > 1


def test_the_threshold_is_the_models_unless_another_is_given(model):
    plain = load_model(model)
    fitted = with_card(plain, settings={"threshold": 0.62})
    assert threshold_for(plain, FindOptions()) == 0.35
    assert threshold_for(fitted, FindOptions()) == 0.62
    assert threshold_for(fitted, FindOptions(threshold=0.1)) == 0.1
    image, _ = small_scene()
    for settings, options in (
        ({"threshold": 0.9999}, FindOptions(car_length_px=20)),
        ({"threshold": 0.05}, FindOptions(car_length_px=20, threshold=0.9999)),
    ):
        job = iter_detections(with_card(plain, settings=settings), image, options)
        assert len(drain(job).scores) == 0


def test_found_cars_remember_their_finder_when_they_get_headings(model):
    image, _ = small_scene()
    options = FindOptions(model=model, threshold=0.05, car_length_px=20)
    for car in drain(iter_find_cars(image, options)):
        assert car.source.startswith("cars ")
        assert car.extra["found_by"].startswith("tiny-finder ")
