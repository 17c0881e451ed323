"""Training as a job: steps, checkpoints, run folders, presets, cost."""
