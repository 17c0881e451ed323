"""Parts that several widgets are made of."""
