"""Speed and memory beside other implementations: `python -m benchmarks --help`."""
