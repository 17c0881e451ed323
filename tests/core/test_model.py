from __future__ import annotations

import json
import os
import time

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from roteq_core.card import ModelFileError, read_card, shipped_models
from roteq_core.model import (
    combine_models,
    load_model,
    make_model,
    warm_model,
    with_card,
)
from roteq_core.net_config import MembraneNetConfig
from roteq_core.networks import build_network


def rewrite(path, *, tensors=None, meta=None):
    """Change parts of a model file."""
    with safe_open(path, framework="pt") as file:
        old = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        old_meta = dict(file.metadata())
    save_file({**old, **(tensors or {})}, path, metadata={**old_meta, **(meta or {})})


def test_model_comes_back_from_its_file(tiny_model, tiny_file):
    loaded = load_model(tiny_file, task="membranes")
    assert loaded.card == tiny_model.card
    image = torch.randn(1, 1, 32, 32)
    with torch.inference_mode():
        before, after = (m.networks[0](image) for m in (tiny_model, loaded))
    assert torch.equal(before.scores, after.scores)
    assert not loaded.networks[0].training


def test_saving_leaves_networks_training_as_they_were(tmp_path):
    network = build_network(MembraneNetConfig(width=1)).train()
    network.norms[1].eval()
    before = [module.training for module in network.modules()]
    make_model([network], name="x", task="membranes").save(tmp_path / "x.safetensors")
    assert [module.training for module in network.modules()] == before


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_another_type_are_refused(tmp_path, kind):
    network = build_network(MembraneNetConfig(width=1)).to(kind)
    model = make_model([network], name="x", task="membranes")
    with pytest.raises(
        ValueError, match=rf"float32 to be saved, got {kind} .*network.float\(\)"
    ):
        model.save(tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


def test_ensemble_comes_back_from_its_file(tiny_model, tmp_path):
    both = make_model(tiny_model.networks * 2, name="two", task="membranes")
    both.save(tmp_path / "two.safetensors")
    loaded = load_model(tmp_path / "two.safetensors")
    assert len(loaded.networks) == 2
    assert loaded.card.parameters == 2 * tiny_model.card.parameters


def test_networks_count_by_their_shares(tiny_model, tmp_path):
    path = tmp_path / "weighed.safetensors"
    combine_models([tiny_model, tiny_model], name="w", shares=[1, 3]).save(path)
    loaded = load_model(path)
    assert loaded.shares == [0.25, 0.75]
    again = combine_models([loaded, tiny_model], name="v", shares=[2, 1])
    assert again.shares == pytest.approx([1 / 6, 1 / 2, 1 / 3])
    alike = combine_models([tiny_model, tiny_model], name="a")
    assert alike.shares == [0.5, 0.5]
    assert "shares" not in alike.card.settings


@pytest.mark.parametrize("shares", [[1.0], [1.0, 0.0], [1.0, -2.0]])
def test_shares_that_do_not_fit_are_refused(tiny_model, shares):
    with pytest.raises(ValueError, match="share above 0 for each of 2 models, got"):
        combine_models([tiny_model, tiny_model], name="b", shares=shares)
    broken = with_card(tiny_model, settings={"shares": [1.0, 2.0]})
    with pytest.raises(ModelFileError, match="each of its 1 networks, got"):
        broken.shares  # noqa: B018


def test_model_for_another_task_is_refused(tiny_file):
    with pytest.raises(ModelFileError, match="for 'membranes', but 'cars' is wanted"):
        load_model(tiny_file, task="cars")


def test_single_changed_weight_is_noticed(tiny_file):
    with safe_open(tiny_file, framework="pt") as file:
        bias = file.get_tensor("0/classify.bias")
    bias[0] += 1e-6
    rewrite(tiny_file, tensors={"0/classify.bias": bias})
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tiny_file)


def test_changed_behavior_is_noticed_by_the_self_test(tiny_file, monkeypatch):
    network = type(load_model(tiny_file).networks[0])
    forward = network.forward

    def other(self, image):
        maps = forward(self, image)
        return maps._replace(scores=maps.scores * 1.1)

    monkeypatch.setattr(network, "forward", other)
    with pytest.raises(ModelFileError, match="does not give the output"):
        load_model(tiny_file)


def test_cut_off_file_is_refused(tiny_file):
    content = tiny_file.read_bytes()
    tiny_file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError):
        load_model(tiny_file)


def test_network_of_the_future_is_refused(tiny_file, tiny_model):
    card = with_card(tiny_model, networks=[{"kind": "quantum"}]).card
    rewrite(tiny_file, meta={"roteq": card.to_json()})
    with pytest.raises(ModelFileError, match=r"unknown network: .*'quantum'"):
        load_model(tiny_file)


def test_weights_of_another_network_are_refused(tiny_file, tiny_model):
    values = json.loads(tiny_model.card.to_json())
    values["networks"][0]["width"] = 2
    rewrite(tiny_file, meta={"roteq": json.dumps(values)})
    with pytest.raises(ModelFileError, match="does not fit its network"):
        load_model(tiny_file)


def test_models_are_combined_with_their_cards(tiny_model, tmp_path):
    first = with_card(tiny_model, name="a", data="stack A.", terms="free.")
    second = with_card(tiny_model, name="b", data="stack B.", terms="free.")
    both = combine_models([first, second], name="both")
    both.save(tmp_path / "both.safetensors")
    card = read_card(tmp_path / "both.safetensors")
    assert (card.name, card.task, card.pixel_size) == ("both", "membranes", 4.0)
    assert card.data == "stack A. stack B."
    assert card.terms == "free."
    assert list(card.training) == ["1: a", "2: b"]
    assert len(load_model(tmp_path / "both.safetensors").networks) == 2


def test_models_that_differ_are_not_combined(tiny_model):
    with pytest.raises(ValueError, match="at least two models, got 1"):
        combine_models([tiny_model], name="one")
    coarse = with_card(tiny_model, pixel_size=8.0)
    with pytest.raises(ValueError, match=r"must share pixel_size, got \[4.0, 8.0\]"):
        combine_models([tiny_model, coarse], name="mixed")


def test_model_without_a_network_is_refused():
    with pytest.raises(ValueError, match="at least one network"):
        make_model([], name="none", task="membranes")


def test_model_stays_loaded_until_its_file_changes(tiny_file, tmp_path):
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(tiny_file.read_bytes())
    first = warm_model(str(copy))
    assert warm_model(str(copy)) is first
    later = time.time() + 5
    os.utime(copy, (later, later))
    assert warm_model(str(copy)) is not first


@pytest.mark.parametrize("name", shipped_models())
def test_shipped_models_pass_their_self_test(name):
    assert load_model(name).networks
