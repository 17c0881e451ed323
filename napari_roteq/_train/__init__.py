"""Train a model on one's own labels, and watch it learn."""
