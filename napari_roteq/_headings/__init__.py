"""Tell which way the cars of an aerial image point."""
