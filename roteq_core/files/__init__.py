"""Images in and out: read plane by plane, written whole or not at all."""
