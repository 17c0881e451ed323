"""Membranes and cells of EM images: learnt, segmented, scored."""
