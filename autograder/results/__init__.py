"""What grades came to: with what a person set by hand, with lateness, beside an earlier grading."""
