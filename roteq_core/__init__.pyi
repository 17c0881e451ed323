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
from .jobs import Job as Job, Report as Report, drain as drain

__version__: str
