"""Images with known answers: aerial scenes with cars, EM-like stacks, gratings.

Everything is drawn by numpy, scipy and Pillow from a seed; the same seed gives the same
image. No torch here, so that the viewer may import it.
"""

from roteq_core.synthetic.aerial import AerialScene, Car, aerial_scene
from roteq_core.synthetic.bodies import CAR_KINDS, OTHER_KINDS
from roteq_core.synthetic.crops import CarCrops, car_crops
from roteq_core.synthetic.em import EMStack, em_stack
from roteq_core.synthetic.families import FAMILIES
from roteq_core.synthetic.gratings import PlaneWaves, blobs, grating, rings
from roteq_core.synthetic.samples import (
    RESERVED_SEEDS,
    sample_aerial_scene,
    sample_em_stack,
)
from roteq_core.synthetic.sketches import car_sketches
from roteq_core.synthetic.styles import AerialStyle

__all__ = [
    "CAR_KINDS",
    "FAMILIES",
    "OTHER_KINDS",
    "RESERVED_SEEDS",
    "AerialScene",
    "AerialStyle",
    "Car",
    "CarCrops",
    "EMStack",
    "PlaneWaves",
    "aerial_scene",
    "blobs",
    "car_crops",
    "car_sketches",
    "em_stack",
    "grating",
    "rings",
    "sample_aerial_scene",
    "sample_em_stack",
]
