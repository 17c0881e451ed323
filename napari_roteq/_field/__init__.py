"""Show the vector fields inside a model."""
