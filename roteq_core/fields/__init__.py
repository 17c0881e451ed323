"""Looking into a model: the fields of its layers, its filters, and how both turn."""
