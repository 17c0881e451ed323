"""The paper's experiments, and how the shipped models were made, to be done again."""
