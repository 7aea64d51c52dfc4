"""What operators compute and move, by hand; and what their shapes do not say."""

from __future__ import annotations

import pytest

from autograder.traces.operators import FORMULAS, KINDS, work

F32, BF16 = "float", "c10::BFloat16"


def args(*tensors, values=(), kind=F32):
    """Return what torch.profiler records of tensors, and behind them of other values."""
    return {
        "Input Dims": [*map(list, tensors), *([] for _ in values)],
        "Input type": [*(kind for _ in tensors), *("ScalarList" for _ in values)],
        "Concrete Inputs": [*("" for _ in tensors), *values],
    }


def typed(**tensors):
    """Return what is recorded of tensors of several types, by words that say where they stand."""
    return {
        "Input Dims": [list(sizes) for _, sizes in tensors.values()],
        "Input type": [kind for kind, _ in tensors.values()],
    }


def convolution(
    *tensors, stride="[1]", padding="[0]", dilation="[1]", transposed="False", groups="1"
):
    values = (stride, padding, dilation, transposed, "[0]", groups)
    return args(*tensors, values=values)


IMAGE, WEIGHT, BIAS = (2, 4, 9, 10), (8, 4, 3, 3), (8,)
OUT = 2 * 8 * 7 * 8  # of a kernel of 3, without padding
BACK = ("[8]", "[1]", "[0]", "[1]", "False", "[0]", "1")
CASES = [
    pytest.param("aten::mm", args((7, 9), (9, 11)), 2 * 7 * 9 * 11, 4 * (63 + 99 + 77), id="mm"),
    pytest.param("aten::mm", args((7, 9), (9, 11), kind=BF16), 1386, 2 * (63 + 99 + 77), id="bfloat16"),
    pytest.param("aten::mm", args((7, 9), (9, 11), kind="c10::complex<float>"), 4 * 1386, 8 * (63 + 99 + 77), id="complex numbers"),
    pytest.param("aten::addmm", args((11,), (7, 9), (9, 11)), 1386, 4 * (11 + 63 + 99 + 77), id="addmm"),
    pytest.param("aten::bmm", args((3, 4, 5), (3, 5, 6)), 3 * 2 * 4 * 5 * 6, 4 * 3 * (20 + 30 + 24), id="bmm"),
    pytest.param("aten::baddbmm", args((3, 4, 6), (3, 4, 5), (3, 5, 6)), 720, 4 * 3 * (24 + 20 + 30 + 24), id="baddbmm"),
    pytest.param("aten::mv", args((6, 7), (7,)), 84, 4 * (42 + 7 + 6), id="mv"),
    pytest.param("aten::convolution", convolution(IMAGE, WEIGHT, BIAS), 2 * OUT * 36, 4 * (720 + 288 + 8 + OUT), id="convolution"),
    pytest.param(
        "aten::convolution", convolution(IMAGE, (8, 2, 3, 3), BIAS, stride="[2, 1]", padding="[1, 0]", dilation="[1, 2]", groups="2"),
        2 * (2 * 8 * 5 * 6) * 18, 4 * (720 + 144 + 8 + 480), id="convolution with strides and groups",
    ),
    pytest.param(
        "aten::convolution", convolution((2, 4, 5), (4, 6, 3), (6,), stride="[2]", padding="[1]", transposed="True"),
        2 * 40 * 18, 4 * (40 + 72 + 6 + 2 * 6 * 9), id="transposed convolution",
    ),
    pytest.param(
        "aten::convolution_backward", args((2, 8, 7, 8), IMAGE, WEIGHT, values=(*BACK, "[True, True, False]")),
        2 * 2 * OUT * 36, 4 * (OUT + 2 * (720 + 288)), id="both gradients of a convolution",
    ),
    pytest.param(
        "aten::convolution_backward", args((2, 8, 7, 8), IMAGE, WEIGHT, values=(*BACK, "[False, True, True]")),
        2 * OUT * 36, 4 * (OUT + 720 + 288), id="one gradient of a convolution",
    ),
    pytest.param(
        "aten::cudnn_convolution_backward", args(IMAGE, (2, 8, 7, 8), WEIGHT),
        2 * 2 * OUT * 36, 2 * 4 * (OUT + 720 + 288), id="both gradients of a convolution, of an old version",
    ),
    pytest.param(
        "aten::_scaled_dot_product_flash_attention", args((2, 3, 10, 16), (2, 3, 12, 16), (2, 3, 12, 16)),
        2 * 6 * 10 * 12 * 32, 4 * 6 * 16 * (10 + 12 + 12 + 10), id="attention",
    ),
    pytest.param(
        "aten::_scaled_dot_product_flash_attention_backward", args((2, 3, 10, 16), (2, 3, 10, 16), (2, 3, 12, 16), (2, 3, 12, 16)),
        2 * 6 * 10 * 12 * 80, 2 * 4 * 6 * 16 * (10 + 10 + 12 + 12), id="attention backward",
    ),
    pytest.param(
        "aten::_scaled_dot_product_efficient_attention", args((2, 3, 10, 16), (2, 3, 12, 16), (2, 3, 12, 16), (2, 1, 10, 12)),
        2 * 6 * 10 * 12 * 32, 4 * (6 * 16 * 44 + 240), id="attention with a mask",
    ),
    pytest.param(
        "aten::_scaled_dot_product_efficient_attention", args((2, 3, 10, 16), (2, 3, 12, 16), (2, 3, 12, 16), (2, 3, 10, 12)),
        2 * 6 * 10 * 12 * 32, 4 * (6 * 16 * 44 + 120), id="a mask that may be spread over all heads",
    ),
    pytest.param(
        "aten::_scaled_dot_product_efficient_attention_backward",
        args((2, 3, 10, 16), (2, 3, 10, 16), (2, 3, 12, 16), (2, 3, 12, 16), (10, 12), (2, 3, 10, 16), (2, 3, 10)),
        2 * 6 * 10 * 12 * 80, 4 * (6 * 2 * 16 * 44 + 120), id="attention with a mask, backward",
    ),
    pytest.param("aten::relu", args((5, 6)), 30, 4 * 60, id="relu"),
    pytest.param("aten::add_", args((5, 6), (6,)), 30, 4 * (30 + 6 + 30), id="add in place, one of them spread"),
    pytest.param("aten::eq", args((5, 6), ()), 30, 4 * 31 + 30, id="truth values have one byte"),
    pytest.param("aten::native_dropout", args((5, 6)), 30, 4 * 60 + 30, id="dropout keeps a mask"),
    pytest.param("aten::sum", args((5, 6)), 30, 4 * 30, id="sum"),
    pytest.param("aten::mean", args((5, 6), ()), 30, 4 * 30, id="mean, and a number that is given back"),
    pytest.param("aten::max", args((5, 6), (5, 6)), 30, 4 * 90, id="the larger of two"),
    pytest.param("aten::native_layer_norm", args((5, 6), (6,), (6,)), 150, 4 * (30 + 12 + 30), id="layer norm"),
    pytest.param("aten::native_layer_norm_backward", args((5, 6), (5, 6), (6,)), 300, 4 * (60 + 6 + 30), id="layer norm backward"),
    pytest.param("aten::_softmax", args((5, 6)), 150, 4 * 60, id="softmax"),
    pytest.param("aten::_softmax", args((5, 6), (5, 6)), 150, 4 * 60, id="softmax into a given tensor"),
    pytest.param("aten::mul", args((5, 6), (5, 6), (5, 6)), 30, 4 * 90, id="a product into a given tensor"),
    pytest.param("aten::relu", args((5, 6), (5, 6)), 30, 4 * 60, id="relu into a given tensor"),
    pytest.param("aten::eq", args((5, 6), (5, 6), (5, 6)), 30, 4 * 90, id="a comparison into a given tensor"),
    pytest.param("aten::where", args((5, 6), (5, 6), (5, 6)), 30, 4 * 120, id="where"),
    pytest.param("aten::where", args((5, 6), (5, 6), (5, 6), (5, 6)), 30, 4 * 120, id="where into a given tensor"),
    pytest.param("aten::_softmax_backward_data", args((5, 6), (5, 6)), 150, 4 * 90, id="softmax backward"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "recorded", "flops", "size"), CASES)
def test_work_is_counted_by_hand(name, recorded, flops, size):
    found = work(name, recorded)

    assert found is not None
    assert (flops, size) == (found.flops, found.bytes)


NUMBER, TRUTH = ("double", ()), ("bool", (5, 6))
TYPED = [
    pytest.param("aten::mul", typed(left=(BF16, (5, 6)), factor=NUMBER), 30 * 2 * 2 + 8, id="a number does not widen bfloat16"),
    pytest.param("aten::mul", typed(left=(F32, (5, 6)), factor=NUMBER), 30 * 2 * 4 + 8, id="nor float32"),
    pytest.param("aten::mul_", typed(left=(F32, (5, 6)), factor=NUMBER), 30 * 2 * 4 + 8, id="nor what is in place"),
    pytest.param("aten::mul", typed(left=("int", (5, 6)), factor=NUMBER), 30 * (4 + 4) + 8, id="a real number beside whole ones gives float32"),
    pytest.param("aten::add", typed(left=("bool", (5, 6)), right=("long", ())), 30 * (1 + 8) + 8, id="a whole number beside truth values"),
    pytest.param("aten::add", typed(left=(BF16, (5, 6)), right=(F32, (5, 6))), 30 * (2 + 4 + 4), id="a tensor of float32 widens"),
    pytest.param("aten::add_", typed(left=(BF16, (5, 6)), right=(F32, (5, 6))), 30 * (2 + 4 + 2), id="but nothing that is in place"),
    pytest.param("aten::where", typed(by=TRUTH, left=(BF16, (5, 6)), right=(BF16, ())), 30 * (1 + 2 + 2) + 2, id="where"),
    pytest.param("aten::add", typed(left=(F32, ()), right=NUMBER), 4 + 8 + 8, id="numbers alone"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "recorded", "size"), TYPED)
def test_a_result_has_the_type_that_torch_gives_it(name, recorded, size):
    assert size == work(name, recorded).bytes


def test_a_point_is_named_by_the_shapes_and_types_of_its_first_tensors():
    """A number beside tensors is recorded as one in float64, which says nothing."""
    found = work("aten::addmm", args((11,), (7, 9), (9, 11)))
    scaled = work("aten::mul", typed(left=(BF16, (5, 6)), factor=("double", ())))
    mixed = work("aten::mul", typed(left=(BF16, (5, 6)), right=(F32, (6,))))

    assert ("matmul", "float32", "11 7x9 9x11") == (found.kind, found.type, found.shape)
    assert ("bfloat16", "5x6 1") == (scaled.type, scaled.shape)
    assert ("bfloat16 float32", "5x6 6") == (mixed.type, mixed.shape)
    assert {kind for kind, _ in FORMULAS.values()} == set(KINDS)


@pytest.mark.parametrize(
    ("name", "recorded"),
    [
        pytest.param("aten::cat", args((5, 6)), id="another operator"),
        pytest.param("aten::mm", {}, id="no shapes"),
        pytest.param("aten::mm", {"Input Dims": [[2, 3], [3, 4]]}, id="no types"),
        pytest.param("aten::mm", args((7, 9), (8, 11)), id="shapes that do not fit"),
        pytest.param("aten::mm", args((7, 9)), id="a tensor too few"),
        pytest.param("aten::mm", args((7, 9), (9, 11), kind="float3"), id="an unknown type"),
        pytest.param("aten::mm", args((-7, 9), (9, 11)), id="a negative size"),
        pytest.param("aten::mm", args((7.5, 9), (9, 11)), id="half a row"),
        pytest.param("aten::mm", args((2**40, 2**40), (2**40, 2**40)), id="more than there is"),
        pytest.param("aten::mm", args((0, 9), (9, 11)), id="nothing"),
        pytest.param("aten::add", args((5, 6), (7,)), id="no broadcast"),
        pytest.param("aten::eq", args((), kind="Scalar"), id="no tensor"),
        pytest.param("aten::convolution", args(IMAGE, WEIGHT, BIAS), id="no strides, as old versions"),
        pytest.param("aten::convolution", convolution(IMAGE, WEIGHT, BIAS, stride="[0]"), id="stride 0"),
        pytest.param("aten::convolution", convolution(IMAGE, WEIGHT, BIAS, stride="(" * 900), id="no list"),
        pytest.param("aten::convolution", convolution(IMAGE, WEIGHT, BIAS, stride=7), id="no text"),
        pytest.param("aten::convolution", convolution(IMAGE, WEIGHT, BIAS, padding=f"[{'9' * 500}]"), id="huge padding"),
        pytest.param("aten::cudnn_convolution_backward", args(IMAGE, (2, 8), WEIGHT), id="no picture of gradients"),
        pytest.param("aten::cudnn_convolution_backward_input", args((), (2, 8, 7, 8), WEIGHT), id="no result of an old version"),
        pytest.param("aten::convolution", convolution((4,), WEIGHT, BIAS), id="no image"),
    ],
)  # fmt: skip
def test_what_is_not_recorded_has_no_place(name, recorded):
    assert work(name, recorded) is None
