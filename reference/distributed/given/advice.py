"""What helps a training that waits for its communication."""

ADVICE = ("nothing", "larger buckets", "accumulate", "overlap", "compress")
