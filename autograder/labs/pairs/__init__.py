"""Lab pairs: chapter 13 as before-and-after."""
