"""Lab gpu_profiling: what a profile says of a training, and what to do about it."""
