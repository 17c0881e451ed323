from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tifffile
import torch

from roteq_core.jobs import drain
from roteq_core.membranes.robustness import DEGRADATIONS
from roteq_core.model import load_model
from roteq_core.reproduce.isbi import QUICK
from roteq_core.reproduce.ship_membranes import (
    ENSEMBLE,
    RECIPES,
    SINGLE,
    iter_ship_membranes,
)

OPTIONS = replace(QUICK, held_out="2-2", side=64)
TINY = {
    width: [replace(leg, steps=2, epoch_steps=2, crop=16, device="cpu") for leg in legs]
    for width, legs in RECIPES.items()
}


@pytest.fixture
def challenge(tmp_path, em):
    """Write a stack as the challenge does: 0 is membrane, 255 cell."""
    folder = tmp_path / "isbi"
    folder.mkdir()
    labels = np.where(em.membranes[:3], 0, 255).astype(np.uint8)
    tifffile.imwrite(
        folder / "train-volume.tif", em.image[:3], photometric="minisblack"
    )
    tifffile.imwrite(folder / "train-labels.tif", labels, photometric="minisblack")
    return folder


def test_the_recipes_give_two_models_with_cards(challenge, tmp_path):
    job = iter_ship_membranes(
        challenge,
        tmp_path / "out",
        options=OPTIONS,
        recipes=TINY,
        degradations=DEGRADATIONS[:2],
        turns=2,
    )
    paths = drain(job)
    single, ensemble = (load_model(paths[name]) for name in (SINGLE, ENSEMBLE))
    assert [n.config.width for n in single.networks] == [2]
    assert [n.config.width for n in ensemble.networks] == [1, 2, 3]
    for card in (single.card, ensemble.card):
        assert card.pixel_size == 4.0
        assert "slices 2-2 were held out" in card.data
        assert card.scores["turns"] == 1
        assert 0 <= card.scores["v_rand"] <= 1
        assert card.scores["turns_2"]["turns"] == 2
        assert "worst are" in card.limits
    changes = [row["change"] for row in single.card.scores["robustness"]]
    assert changes == ["as it is", "turned by 90°"]
    assert single.card.training["recipe"]["seed"] == RECIPES[2][-1].seed
    assert list(single.card.training["legs"]) == ["N = 2"]
    assert list(ensemble.card.training["legs"]) == ["N = 1", "N = 2", "N = 3"]
    seeds = [leg["seed"] for leg in single.card.training["legs"]["N = 2"]]
    assert seeds == [leg.seed for leg in RECIPES[2]]
    before = len(RECIPES[2]) - 1
    assert single.card.training["start_from"] == f"n2_leg{before}.safetensors"
    found = [model.card.scores["direction_deg"] for model in (single, ensemble)]
    assert found[0] != found[1]


def test_networks_that_are_there_are_taken_over(challenge, tmp_path):
    def ship(seed: int) -> dict[str, torch.Tensor]:
        paths = drain(
            iter_ship_membranes(
                challenge,
                tmp_path / "out",
                options=OPTIONS,
                recipes={
                    width: [replace(leg, seed=seed) for leg in legs]
                    for width, legs in TINY.items()
                },
                degradations=DEGRADATIONS[:1],
                turns=1,
            )
        )
        return load_model(paths[SINGLE]).networks[0].state_dict()

    first, again = ship(seed=4), ship(seed=5)
    assert all(torch.equal(first[name], again[name]) for name in first)


def test_each_leg_starts_where_the_one_before_ended(challenge, tmp_path):
    folder = tmp_path / "out"
    drain(
        iter_ship_membranes(
            challenge,
            folder,
            options=OPTIONS,
            recipes={
                width: [legs[0], replace(legs[1], learning_rate=1e-7, weight_decay=0.0)]
                for width, legs in TINY.items()
            },
            degradations=DEGRADATIONS[:1],
            turns=1,
        )
    )
    first, last = (
        load_model(folder / f"n2_leg{leg}.safetensors").networks[0].state_dict()
        for leg in (1, 2)
    )
    for name, before in first.items():
        torch.testing.assert_close(last[name], before, rtol=0, atol=1e-6)


def test_a_recipe_without_legs_is_refused(challenge, tmp_path):
    with pytest.raises(ValueError, match="must have a leg, the one for N = 2 has none"):
        drain(
            iter_ship_membranes(
                challenge, tmp_path / "out", options=OPTIONS, recipes={2: []}
            )
        )
