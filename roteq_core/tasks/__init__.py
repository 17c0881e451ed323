"""One module for each thing users do with the networks."""
