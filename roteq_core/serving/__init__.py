"""The compute process, and what a viewer asks of it."""
