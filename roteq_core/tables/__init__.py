"""Tables of cars: the record, the formats, the angle conventions of each.

What each format can and cannot say is in docs/formats.md.
No torch.
"""

from roteq_core.tables.agreement import (
    Agreement as Agreement,
    Disagreement as Disagreement,
    compare_reviews as compare_reviews,
    match_cars as match_cars,
)
from roteq_core.tables.car import (
    ACCEPTED as ACCEPTED,
    AXIS_ONLY as AXIS_ONLY,
    EDITED as EDITED,
    MACHINE as MACHINE,
    REJECTED as REJECTED,
    REVIEWED as REVIEWED,
    Car as Car,
    CornerOrder as CornerOrder,
    box_corners as box_corners,
    car_from_corners as car_from_corners,
)
from roteq_core.tables.columns import ADDED_COLUMNS as ADDED_COLUMNS
from roteq_core.tables.detection import (
    FORMATS as FORMATS,
    detect_format as detect_format,
)
from roteq_core.tables.export import (
    TrainingSet as TrainingSet,
    export_cars as export_cars,
    write_training_set as write_training_set,
)
from roteq_core.tables.files import (
    FileChangedError as FileChangedError,
    fingerprint as fingerprint,
    fingerprint_of as fingerprint_of,
    write_atomically as write_atomically,
)
from roteq_core.tables.folders import (
    read_car_folder as read_car_folder,
    write_car_folder as write_car_folder,
)
from roteq_core.tables.formats import (
    ONE_IMAGE_FORMATS as ONE_IMAGE_FORMATS,
    check_output as check_output,
    read_cars as read_cars,
    render_cars as render_cars,
    write_cars as write_cars,
    write_rendered as write_rendered,
)
from roteq_core.tables.table import (
    CONVENTION as CONVENTION,
    CarTable as CarTable,
    Format as Format,
)
