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
from .functional import (
    field_max_pool as field_max_pool,
    field_normalize as field_normalize,
    field_upsample as field_upsample,
    magnitude as magnitude,
    orientation_pool as orientation_pool,
    rotating_conv as rotating_conv,
    sector_pool as sector_pool,
)
from .geometry import (
    Basis as Basis,
    orientation_angles as orientation_angles,
    turn_field as turn_field,
    turn_image as turn_image,
    turning_operator as turning_operator,
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

__version__: str
