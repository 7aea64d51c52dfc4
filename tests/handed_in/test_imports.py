"""What a part's file may import is read from its words, wherever in it an import stands."""

from __future__ import annotations

import pytest

from autograder.handed_in.imports import imported, others, without

SOURCES = {
    "each form of import": (
        "import os, torch.nn as nn, psutil\nfrom einops.layers import Rearrange\n",
        {"psutil": 1, "einops": 2},
    ),
    "within functions, after a colon and behind a semicolon": (
        "def f():\n    import cv2\ntry: import apex\nexcept ImportError: apex = None\nx = 1; import timm\n",
        {"cv2": 2, "apex": 3, "timm": 5},
    ),
    "over several lines": (
        "from torchmetrics import (\n    Accuracy,\n    Mean,\n)\n",
        {"torchmetrics": 1},
    ),
    "another part's file": ("from part4_memory import train\n", {"part4_memory": 1}),
    "what is allowed": (
        "import time, json\nimport matplotlib.pyplot as plt\nfrom tqdm.auto import tqdm\nfrom given import name\n",
        {},
    ),
    "words in texts and comments": (
        '"""\nimport psutil\n"""\n# import psutil\nx = "import psutil"\n',
        {},
    ),
    "names that only look like it": (
        "important = 1\nx.from_numpy = 2\nraise E from error\nyield from work()\n",
        {},
    ),
    "no Python": ("from import (\nimport\nimport ,", {}),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_modules_outside_of_the_list_are_named_with_their_line(source, expected):
    """A pattern would find them in texts, and the interpreter is not asked."""
    assert expected == others(source)


def test_a_file_that_stands_beside_it_may_be_imported():
    """A program is staged with the part's file."""
    assert {} == others("import optimized_training\n", beside={"optimized_training.py"})
    assert [("optimized_training", 1)] == list(imported("import optimized_training\n"))


def test_an_import_of_the_template_is_no_choice_of_the_student():
    """It stands in a function there; moved to the top it would be one."""
    template = "def net():\n    from transformers import Llama\n"

    assert {} == others(without(template, template))
    assert {"transformers": 1} == others(without("from transformers import Llama\n", template))
    assert {"psutil": 3} == others(without(f"{template}import psutil\n", template))
