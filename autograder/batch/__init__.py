"""A class graded unattended: what runs beside what, what is kept, and what is next after a crash."""
