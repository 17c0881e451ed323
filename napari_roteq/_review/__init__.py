"""Review headings from the keyboard."""
