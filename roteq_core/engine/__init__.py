"""How rotating convolutions are made fast: strips, spectra, one pass for all."""
