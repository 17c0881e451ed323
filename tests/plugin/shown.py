"""What a viewer and a widget show, found as a person would."""

from napari_roteq._layers import METADATA


def layers_with_role(viewer, role):
    """Give the layers that the plugin made in a role."""
    return [
        layer
        for layer in viewer.layers
        if layer.metadata.get(METADATA, {}).get("role") == role
    ]


def layer_with_role(viewer, role):
    """Give the layer of a role, of which there must be one."""
    (layer,) = layers_with_role(viewer, role)
    return layer


def sentence_of(widget):
    """Give the sentence in which a widget tells what went wrong, or nothing."""
    return "" if widget.error is None else widget.error.sentence
