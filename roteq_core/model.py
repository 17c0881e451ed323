"""Models: networks with their card, saved and loaded as one safetensors file.

A file holds a small input with the output it gave when it was saved; both are compared
on loading, so that a damaged file or a change of the code is found at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from roteq_core.card import ModelCard, ModelFileError, find_model, read_card
from roteq_core.net_config import net_config_to_dict
from roteq_core.networks import count_parameters
from roteq_core.networks.baselines import any_config_from_dict, build_any
from roteq_core.training.checkpoint import write_tensors

SELF_TEST_SIZE = 64
SELF_TEST_TOLERANCE = 1e-2
SHARES = "shares"  # the entry of a card's settings


@dataclass
class Model:
    """One network or an ensemble of several, and their card."""

    networks: list[nn.Module]
    card: ModelCard

    @property
    def shares(self) -> list[float]:
        """How much each network counts in a mean, as the card says; alike otherwise."""
        given = self.card.settings.get(SHARES, [1.0] * len(self.networks))
        if len(given) != len(self.networks) or not all(share > 0 for share in given):
            raise ModelFileError(
                f"the model {self.card.name} must have a share above 0 for each of its "
                f"{len(self.networks)} networks, got {given}"
            )
        return [share / sum(given) for share in given]

    def to(self, device: torch.device | str) -> Model:
        """Move all networks."""
        for network in self.networks:
            network.to(device)
        return self

    def save(self, path: Path | str) -> None:
        """Write a safetensors file, with a self-test; weights must be float32."""
        self._check_types()
        tensors = {
            f"{index}/{name}": value.detach().cpu().contiguous().clone()
            for index, network in enumerate(self.networks)
            for name, value in network.state_dict().items()
        }
        test_input, test_output = self._self_test()
        tensors["self_test/input"], tensors["self_test/output"] = (
            test_input,
            test_output,
        )
        meta = {"roteq": self.card.to_json(), "sha256": _digest(tensors)}
        write_tensors(Path(path), tensors, meta)

    def _check_types(self) -> None:
        """Refuse weights that would come back as other numbers than they were."""
        for index, network in enumerate(self.networks):
            for name, value in network.state_dict().items():
                is_whole = not (value.is_floating_point() or value.is_complex())
                if not is_whole and value.dtype != torch.float32:
                    raise ValueError(
                        f"weights must be float32 to be saved, got {value.dtype} in "
                        f"{name!r} of network {index}: call network.float() first"
                    )

    def _self_test(self) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(0)
        config = self.networks[0].config
        size = getattr(config, "crop", SELF_TEST_SIZE)
        maps = getattr(config, "in_maps", 1)
        image = torch.randn(1, maps, size, size, generator=generator)
        image = torch.nn.functional.avg_pool2d(image, 5, stride=1, padding=2) * 4
        return image, self._run_self_test(image)

    def _run_self_test(self, image: Tensor) -> Tensor:
        outputs = []
        for network in self.networks:
            with _evaluating(network), torch.inference_mode():
                output = network(image.to(next(network.parameters())))
            first = output[0] if isinstance(output, tuple) else output
            outputs.append(first.float().cpu().flatten())
        return torch.cat(outputs).clone()


@contextlib.contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluate for a while; then every module trains or not as it did before."""
    training = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, was_training in training.items():
            module.training = was_training


def make_model(
    networks: Sequence[nn.Module], *, name: str, task: str, **card: Any
) -> Model:
    """Put trained networks and the entries of their card together."""
    if not networks:
        raise ValueError("a model needs at least one network, got none")
    return Model(
        list(networks),
        ModelCard(
            name=name,
            task=task,
            networks=[net_config_to_dict(n.config) for n in networks],  # type: ignore[arg-type]
            version=version("napari-roteq"),
            parameters=sum(count_parameters(n) for n in networks),
            **card,
        ),
    )


def load_model(name_or_path: Path | str, *, task: str | None = None) -> Model:
    """Load a shipped model by name, or a file, and run its self-test.

    Parameters
    ----------
    name_or_path : str or path
    task : str, optional
        Refuse models made for another task.

    Raises
    ------
    ModelFileError
        If the file is missing, foreign, damaged, newer than this version, or for
        another task.
    """
    path = find_model(name_or_path)
    card = read_card(path)
    if task is not None and card.task != task:
        raise ModelFileError(
            f"{path.name} is a model for {card.task!r}, but {task!r} is wanted"
        )
    try:
        networks = [build_any(any_config_from_dict(c)) for c in card.networks]
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{path} describes an unknown network: {error}") from error
    tensors = _read_tensors(path)
    for index, network in enumerate(networks):
        start = f"{index}/"
        state = {k[len(start) :]: v for k, v in tensors.items() if k.startswith(start)}
        try:
            network.load_state_dict(state)
        except RuntimeError as error:
            raise ModelFileError(f"{path} does not fit its network: {error}") from error
        network.eval()
    model = Model(networks, card)
    _check_self_test(model, tensors, path)
    return model


def warm_model(name_or_path: str, task: str | None = None) -> Model:
    """Load a model, or give the one loaded before if its file has not changed."""
    path = find_model(name_or_path).resolve()
    return _load(path, path.stat().st_mtime_ns, task)


@lru_cache(maxsize=4)
def _load(path: Path, _changed: int, task: str | None) -> Model:
    return load_model(path, task=task)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    """Read all tensors, and see that none has changed since they were written."""
    try:
        with safe_open(path, framework="pt") as file:
            expected = (file.metadata() or {}).get("sha256")
            names = list(file.keys())
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"cannot read {path}: {error}") from error
    if expected is not None and expected != _digest(tensors):
        raise ModelFileError(f"{path} is damaged: its numbers are not those saved")
    return tensors


def _digest(tensors: dict[str, Tensor]) -> str:
    """Give the SHA-256 of tensors, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


def _check_self_test(model: Model, tensors: dict[str, Tensor], path: Path) -> None:
    if "self_test/input" not in tensors:
        raise ModelFileError(f"{path} has no self-test")
    expected = tensors["self_test/output"]
    found = model._run_self_test(tensors["self_test/input"])
    # A near tie between orientations may fall the other way on another machine, so
    # that few pixels may differ; the typical one may not.
    gap = (found - expected).abs().median() if found.shape == expected.shape else None
    scale = expected.abs().mean().clamp(min=1e-6)
    if gap is None or not gap <= SELF_TEST_TOLERANCE * scale:
        raise ModelFileError(
            f"{path} does not give the output that it was saved with: it was made by "
            "an incompatible version, or is damaged"
        )


def with_card(model: Model, **changes: Any) -> Model:
    """Give the same networks with some entries of the card changed."""
    return Model(model.networks, dataclasses.replace(model.card, **changes))


def combine_models(
    models: Sequence[Model],
    *,
    name: str,
    summary: str = "",
    shares: Sequence[float] | None = None,
) -> Model:
    """Make an ensemble of models for the same task.

    Their networks stand side by side and their predictions are averaged. Data, terms
    and limits of the parts are all named once; each part's training and scores are kept
    under its name.

    Parameters
    ----------
    models : sequence of Model
    name, summary : str
        Of the ensemble.
    shares : sequence of float, optional
        How much each model counts; all alike if not given.
    """
    if len(models) < 2:
        raise ValueError(f"an ensemble needs at least two models, got {len(models)}")
    wanted = [1.0] * len(models) if shares is None else list(shares)
    if len(wanted) != len(models) or not all(share > 0 for share in wanted):
        raise ValueError(
            f"an ensemble needs a share above 0 for each of {len(models)} models, "
            f"got {wanted}"
        )
    counted = [
        share * part
        for share, model in zip(wanted, models, strict=True)
        for part in model.shares
    ]
    cards = [
        dataclasses.replace(
            model.card,
            settings={k: v for k, v in model.card.settings.items() if k != SHARES},
        )
        for model in models
    ]
    for entry in ("task", "pixel_size", "pixel_unit", "settings"):
        found = [getattr(card, entry) for card in cards]
        if any(value != found[0] for value in found):
            raise ValueError(f"models of an ensemble must share {entry}, got {found}")
    parts = {f"{i + 1}: {card.name}": card for i, card in enumerate(cards)}
    return make_model(
        [network for model in models for network in model.networks],
        name=name,
        task=cards[0].task,
        summary=summary or f"Ensemble of {', '.join(card.name for card in cards)}.",
        pixel_size=cards[0].pixel_size,
        pixel_unit=cards[0].pixel_unit,
        settings={
            **cards[0].settings,
            **({} if len(set(counted)) == 1 else {SHARES: counted}),
        },
        data=_each_once(card.data for card in cards),
        terms=_each_once(card.terms for card in cards),
        limits=_each_once(card.limits for card in cards),
        training={part: card.training for part, card in parts.items()},
        scores={"parts": {part: card.scores for part, card in parts.items()}},
    )


def _each_once(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))
