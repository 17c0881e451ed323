"""What we are measured against, written plainly."""
