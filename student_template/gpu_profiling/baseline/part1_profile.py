"""The slow, working version that students start from and are compared with."""


def sum_of_squares(numbers):
    """Return the sum of the squares of an array."""
    total = 0.0
    for number in numbers:
        total += float(number) ** 2
    return total
