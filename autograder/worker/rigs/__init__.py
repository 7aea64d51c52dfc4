"""What a probe works with: trainings, clocks, recorders and made profiles that parts share."""
