"""Usual mistakes: why, and what to try."""

from __future__ import annotations

from autograder.checks.hints import Causes

STORAGE = "a dict of storage.data_ptr() -> storage.nbytes(), of each tensor.untyped_storage()"
NOT_KEPT = "leave out the storages of model.parameters(), of model.buffers() and of inputs"
ENABLED = "torch.autocast(inputs.device.type, dtype, enabled=dtype is not None)"
OF_WEIGHT, OF_X = (
    f"return it from backward of an autograd.Function that gets {it} as it came"
    for it in ("weight", "x")
)
SLIPS = {
    "tensors": (
        "each tensor was counted, but several tensors share one storage: a storage counts once",
        STORAGE,
    ),
    "parameters": ("parameters, buffers and inputs were counted: they are there anyway", NOT_KEPT),
    "inputs": ("the inputs were counted: they are there anyway", NOT_KEPT),
    "weights": (
        "tensors of a parameter's shape were left out, as batch norm's means and 16-bit weights are",
        "count each tensor that the hook gets, unless its storage was there before",
    ),
    "autocast": (
        "the model runs under autocast also where dtype is None",
        ENABLED,
    ),
    "plain": (
        "the model does not run under autocast where dtype is given",
        ENABLED,
    ),
    "float": (
        "the float32 copy of the output is missing",
        "make the output .float() before it is squared",
    ),
}
"""A slip of `rig.counted` -> why, and what to try."""

APART = {
    "the weights are right": (
        "take the loss inside of autocast, and return it as loss.detach().float(), not scaled"
    ),
    "the first loss differs": "criterion(model(inputs), targets) of each batch as it comes",
    "the first loss is near": (
        "optimizer.zero_grad() first in each step, then one backward(), unscale_(), clipping, "
        "step() and update()"
    ),
    "infinite or NaN": "call scaler.step(optimizer), which skips such a batch",
}
"""What to try, by words of what sets a training apart."""
KEPT: Causes = {
    "batch norm": ("buffers must not count: they are there anyway", NOT_KEPT),
    "halves": (
        "two views of one storage are kept: it must count once, with its own address and size",
        STORAGE,
    ),
    "": (
        "usually a tensor was freed, and a later tensor at the same address did not count",
        "return tensor.detach() from the hook, which keeps the storage alive",
    ),
}
SCALE = "divide each operand by a scale of its own: tensor.abs().amax() / 448"
OVERFLOW = "numbers above 448 do not fit into float8_e4m3fn: they were not scaled", SCALE
CASES_OF_FP8: Causes = {
    "zeros": (
        "the scale of zeros is 0, and 0 / 0 is NaN",
        "let the scale be at least some tiny number",
    ),
    "a row of x": OVERFLOW,
    "a transposed x": (
        "your code must take any view as x; x.view() refuses one whose rows are scattered",
        "x.reshape(-1, x.shape[-1]), which copies such a view",
    ),
    "rows is 0": (
        "your code must take an x without rows, which has no largest number",
        "look at tensor.numel() before amax()",
    ),
    "times 0.001": (
        "numbers below 0.001 become 0 in float8_e4m3fn: they were not scaled",
        SCALE,
    ),
    "times 1000": OVERFLOW,
}
"""What goes wrong with the operands of a case, in results and in gradients."""
RESULTS: Causes = {
    **CASES_OF_FP8,
    "": (
        "usually operands are not divided by their scales",
        "divide each operand by its scale, and hand both scales to torch._scaled_mm",
    ),
}
RESULT_HINTS: Causes = {
    "dtype of the result": "it has the dtype of x: convert it at the end by .to(x.dtype)",
    **dict.fromkeys(
        (f"e+0{digit}; at most" for digit in range(1, 10)),
        ("a scale is missing in the product", "hand both scales to torch._scaled_mm"),
    ),
}
"""By words of what was measured: errors of 10 and more are those of numbers that are too large."""
GRADIENTS: Causes = {
    **CASES_OF_FP8,
    "gradient of weight": (
        "the gradient of weight must be gradient.t() @ x, by the FP8 tensor of x times its scale",
        OF_WEIGHT,
    ),
    "gradient of x": (
        "the gradient of x must be gradient @ weight, by the weight that was multiplied",
        OF_X,
    ),
    "": (
        "the gradient of bias must be the sum over all rows",
        "add bias outside of the autograd.Function, or return gradient.sum(0) for it",
    ),
}
GRADIENT_HINTS: Causes = {
    'gradient of weight": nothing': (
        "no gradient comes to weight",
        OF_WEIGHT,
    ),
    'gradient of x": nothing': (
        "no gradient comes to x",
        OF_X,
    ),
}
PRODUCT: Causes = {
    "layout": (
        "a GPU takes row-major x_fp8 and column-major weight_fp8.t() alone",
        "pass x_fp8.contiguous() and weight_fp8.contiguous().t()",
    ),
    "dtype": (
        "both operands must be float8_e4m3fn",
        "convert both to torch.float8_e4m3fn",
    ),
    "": (
        "another operator computes the product, in 16 or 32 bits",
        "torch._scaled_mm(x_fp8, weight_fp8.t(), scale_x, scale_weight, out_dtype=x.dtype)",
    ),
}
