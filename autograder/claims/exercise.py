"""An exercise: one function or class that a student writes, a slow version of it beside it, and what it claims.

part = Exercise("batched_products")           a part of one function, in a file of that name
swiglu = Exercise("swiglu", part)             one of several functions of a part

@part.inputs                                  draws what one call is given, by the names of the parameters; a size
def draw(random, batch=(0, 9)): ...           that is a pair is drawn too, and claims and cases may fix it

part.same({"one product": {"batch": 1}}, why=..., try_=...)     results and gradients, in every kind of inputs
part.operations_do_not_grow({"batch": 8}, {"batch": 64}, ...)   what a call costs
part.faster({"batch": 256}, ...)                                the clock, with a bar in grading_config.yaml

same_results.py  same, same_gradients, leaves_inputs_alone  refusals.py  refuses        object_calls.py  calls
training.py  trains_alike                                   devices.py   stays_on_the_device
costs.py     fewer_operations and what else a call costs    graphs.py    one_graph, fetches_nothing and the like
rounding.py  error_between                                  reaching.py  reaches
launches.py  would_launch                                   speed.py     faster
"""

from __future__ import annotations

from autograder.claims.costs import Costs
from autograder.claims.devices import Devices
from autograder.claims.graphs import Graphs
from autograder.claims.launches import Launches
from autograder.claims.object_calls import Calls
from autograder.claims.reaching import Reaches
from autograder.claims.refusals import Refuses
from autograder.claims.rounding import Rounds
from autograder.claims.speed import Speed
from autograder.claims.training import Trains


class Exercise(Rounds, Refuses, Calls, Trains, Costs, Reaches, Graphs, Launches, Devices, Speed):
    """What is claimed of one function."""
