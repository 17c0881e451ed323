# The public names of roteq_core, one list for readers, type checkers and the loader.
# A name never equals the name of a module: `roteq_core.x` would depend on what was
# imported before.

from .angles import (
    angle_from_ccw as angle_from_ccw,
    angle_from_heading as angle_from_heading,
    angle_from_vector as angle_from_vector,
    ccw_from_angle as ccw_from_angle,
    ccw_from_heading as ccw_from_heading,
    circular_mean as circular_mean,
    heading_from_angle as heading_from_angle,
    heading_from_ccw as heading_from_ccw,
    vector_from_angle as vector_from_angle,
    wrap_axial as wrap_axial,
    wrap_directed as wrap_directed,
)
from .config import TrainConfig as TrainConfig
from .equivariance import (
    equivariance_error as equivariance_error,
)
from .functional import (
    field_max_pool as field_max_pool,
    field_normalize as field_normalize,
    field_upsample as field_upsample,
    magnitude as magnitude,
    rotating_conv as rotating_conv,
)
from .geometry import (
    Basis as Basis,
    orientation_angles as orientation_angles,
    turning_operator as turning_operator,
)
from .image_turning import (
    turn_field as turn_field,
    turn_image as turn_image,
)
from .jobs import Job as Job, Report as Report, drain as drain
from .layers import (
    FieldDropout as FieldDropout,
    FieldMaxPool as FieldMaxPool,
    FieldNorm as FieldNorm,
    FieldUpsample as FieldUpsample,
    Magnitude as Magnitude,
    OrientationPool as OrientationPool,
    RotConv as RotConv,
)
from .membranes.cells import (
    cells_from_membranes as cells_from_membranes,
)
from .membranes.linking import (
    link_slices as link_slices,
)
from .metrics import (
    score_labels as score_labels,
    score_stack as score_stack,
)
from .model import (
    Model as Model,
    load_model as load_model,
    make_model as make_model,
)
from .net_config import (
    CarFinderNetConfig as CarFinderNetConfig,
    CarNetConfig as CarNetConfig,
    DigitNetConfig as DigitNetConfig,
    MembraneNetConfig as MembraneNetConfig,
    PatchNetConfig as PatchNetConfig,
    TurningConfig as TurningConfig,
)
from .networks import (
    build_network as build_network,
)
from .pooling import (
    orientation_pool as orientation_pool,
    sector_pool as sector_pool,
)
from .tables import (
    Car as Car,
    CarTable as CarTable,
    read_cars as read_cars,
    write_cars as write_cars,
)
from .testing import (
    assert_equivariant as assert_equivariant,
)

__version__: str
