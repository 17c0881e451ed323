import numpy as np

from napari_roteq._colors import color_of, cyclic_colors


def test_the_circle_closes():
    colors = cyclic_colors()
    np.testing.assert_array_equal(colors[0], colors[-1])
    np.testing.assert_allclose(color_of(0.0), color_of(1.0))
    np.testing.assert_allclose(color_of(-0.25), color_of(0.75))


def test_opposite_directions_differ_and_neighbors_do_not():
    steps = np.linspace(0, 1, 200)
    near = np.abs(color_of(steps) - color_of(steps + 0.005)).max()
    far = np.abs(color_of(steps) - color_of(steps + 0.5)).max(axis=-1).min()
    assert near < 0.08
    assert far > 0.25
