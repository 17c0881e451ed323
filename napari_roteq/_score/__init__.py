"""Score a prediction layer against a truth layer."""
