"""Segment membranes of an image layer."""
