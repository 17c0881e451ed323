"""The napari plugin over `roteq_core`; `napari.yaml` lists what it offers."""

from importlib.metadata import version

__version__ = version("napari-roteq")
