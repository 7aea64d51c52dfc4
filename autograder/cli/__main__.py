"""python -m autograder.cli"""

from autograder.cli import main

main()
