"""Cars seen from above: finding them, telling their headings, learning both."""
