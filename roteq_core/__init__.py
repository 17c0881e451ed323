"""Rotation-equivariant vector-field networks.

Marcos et al., ICCV 2017, arXiv:1612.09346. The public names are listed in
`__init__.pyi` and loaded on first use, so `import roteq_core` does not import torch.
"""

from importlib.metadata import version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version("napari-roteq")
