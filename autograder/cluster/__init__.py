"""A class graded on a cluster: the run reads what was handed in and keeps the journal, nodes grade
one job at a time.

    site.py     the file that says which cluster
    away.py     what a lane does in place of grading: kept files and a job out, a result back
    engine.py   a process beside the run, with Parsl in it: jobs in, pilots and workers on nodes
    node.py     what a worker on a node does with a job: hands it to `perflab grade-one`

Parsl only carries jobs. It repeats none, and whatever it loses is begun anew by the run, as the
journal says.
"""
