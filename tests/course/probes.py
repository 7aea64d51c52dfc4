"""Probes for the tests of what a probe reaches; never run."""

from functools import partial, wraps


def helper(student, rig):
    return student.first(rig)


def renamed(module):
    return module.first()


def direct(student, rig):
    return student.first(rig) + student.Third()


def through_a_helper(student, rig):
    return [helper(student, rig) for _ in range(2)]


def with_a_recorder(student, rig):
    with rig.waits(rig.window, student):
        return student.second()


def scripted(student, rig):
    return moved(student, rig, helper)


def moved(student, rig, helper):
    rig.clock.freeze()
    return rig.loading.step([1.0]), student.first()


def with_a_hook(student, rig):
    window = rig.window()
    window.optimizer.register_step_post_hook(student.first)
    return window.weights()


def maker():
    def within(student, rig):
        return rig.clock, student.first()

    return within


def with_data(student, rig):
    moved = rig.loading.pictures(4)  # no call of the function above
    return student.first(moved, rig.random)


def with_a_program(student, rig):
    return rig.program(student, "train.py").run()


def by_text(student, rig):
    return [getattr(student, name)(rig) for name in ("first", "second")]


def to_the_rig(student, rig):
    return rig.text(student)


def under_another_name(student, rig):
    return renamed(student), rig


def kept(student, rig):
    module = student
    return module.first(rig)


def with_answers(student, rig):
    return rig.answers(student).ask("a case", student.first)


def other_name_first(module, rig):
    return module.first(rig)


def twice(student, rig):
    return student.first()


first_of_two = twice


def twice(student, rig):
    return rig


def wrapper(run):
    @wraps(run)
    def wrapped(student, rig):
        return student.second(run(student, rig))

    return wrapped


@wrapper
def wrapped(student, rig):
    return student.first()


def direct_partly(student, rig, name):
    return student.first(name)


closure = maker()
part_of_one = partial(direct_partly, name="second")
part_of_one.__name__ = "direct"
in_a_lambda = lambda student, rig: student.second()  # noqa: E731 as an author may write it
