"""What a student runs: the checks that grade, in one folder, from pytest or `perflab check`."""
