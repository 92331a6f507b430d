"""Models with nodes that plait lacks, which onnxruntime has."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, shape, element_type=FLOAT):
    return helper.make_tensor_value_info(name, element_type, shape)


def serialized(nodes, inputs, outputs, weights, values=(), domains=()):
    graph = helper.make_graph(
        nodes, "strange", inputs, outputs,
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
        value_info=list(values))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17),
                              *(helper.make_opsetid(domain, 1) for domain in domains)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def convolution(name, source, target, channels, random, weights):
    """A convolution by windows of 3x3, and a Relu."""
    weights[name] = (random.standard_normal((*channels, 3, 3)) / 8).astype(np.float32)
    return [helper.make_node("Conv", [source, name], [f"{target}_conv"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"{target}_conv"], [target])]


def detector():
    """Features of an image; from them 256 boxes and scores of 3 classes; the best boxes by
    NonMaxSuppression, whose number only a run tells, and the features themselves."""
    random = np.random.default_rng(11)
    weights = {"boxes_shape": np.array([1, 256, 4]), "scores_shape": np.array([1, 3, 256]),
               "per_class": np.array([20]), "overlap": np.array([0.5], np.float32),
               "least": np.array([0.2], np.float32), "zero": np.array([0]),
               "column": np.array([2]), "end": np.array([3])}
    nodes = [
        *convolution("w0", "image", "a", (8, 3), random, weights),
        *convolution("w1", "a", "features", (8, 8), random, weights),
        *convolution("w2", "features", "box_map", (4, 8), random, weights),
        *convolution("w3", "features", "score_map", (3, 8), random, weights),
        helper.make_node("Transpose", ["box_map"], ["box_rows"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["box_rows", "boxes_shape"], ["boxes"]),
        helper.make_node("Reshape", ["score_map", "scores_shape"], ["scores"]),
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "per_class", "overlap", "least"],
                         ["selected"]),
        helper.make_node("Slice", ["selected", "column", "end", "column_axis"], ["rows"]),
        helper.make_node("Squeeze", ["rows", "column_axis"], ["indices"]),
        helper.make_node("Squeeze", ["boxes", "zero"], ["all_boxes"]),
        helper.make_node("Gather", ["all_boxes", "indices"], ["best"]),
    ]
    weights["column_axis"] = np.array([1])
    return serialized(nodes, [value("image", [1, 3, 16, 16])],
                      [value("best", ["count", 4]), value("selected", ["count", 3], INT64),
                       value("features", [1, 8, 16, 16])], weights)


def masks():
    """A detector with a second stage: crops of the features around the best boxes, as many as a
    run finds, go through two convolutions, and a product scores them."""
    random = np.random.default_rng(16)
    weights = {"boxes_shape": np.array([1, 256, 4]), "scores_shape": np.array([1, 2, 256]),
               "per_class": np.array([12]), "overlap": np.array([0.5], np.float32),
               "least": np.array([0.3], np.float32), "rows_shape": np.array([-1]),
               "zero": np.array([0]), "one": np.array([1]), "two": np.array([2]),
               "three": np.array([3]), "axis": np.array([1]), "size": np.array(12, np.float32),
               "score": (random.standard_normal((16, 5)) / 4).astype(np.float32)}
    nodes = [
        *convolution("w0", "image", "features", (8, 3), random, weights),
        *convolution("w1", "features", "box_map", (4, 8), random, weights),
        *convolution("w2", "features", "score_map", (2, 8), random, weights),
        helper.make_node("Transpose", ["box_map"], ["box_rows"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["box_rows", "boxes_shape"], ["corners"]),
        helper.make_node("Mul", ["corners", "size"], ["boxes"]),
        helper.make_node("Reshape", ["score_map", "scores_shape"], ["scores"]),
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "per_class", "overlap", "least"],
                         ["selected"]),
        helper.make_node("Slice", ["selected", "two", "three", "axis"], ["box_column"]),
        helper.make_node("Reshape", ["box_column", "rows_shape"], ["indices"]),
        helper.make_node("Slice", ["selected", "zero", "one", "axis"], ["image_column"]),
        helper.make_node("Reshape", ["image_column", "rows_shape"], ["images"]),
        helper.make_node("Squeeze", ["boxes", "zero"], ["all_boxes"]),
        helper.make_node("Gather", ["all_boxes", "indices"], ["best"]),
        helper.make_node("RoiAlign", ["features", "best", "images"], ["crops"], output_height=7,
                         output_width=7, sampling_ratio=2),
        *convolution("w3", "crops", "hidden", (16, 8), random, weights),
        *convolution("w4", "hidden", "mask", (16, 16), random, weights),
        helper.make_node("ReduceMean", ["mask"], ["pooled"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["pooled", "score"], ["kinds"])]
    return serialized(nodes, [value("image", [1, 3, 16, 16])],
                      [value("kinds", ["count", 5]), value("mask", ["count", 16, 7, 7]),
                       value("best", ["count", 4])], weights)


def branches():
    """An If whose branches read what a convolution made and a weight, with convolutions around."""
    random = np.random.default_rng(12)
    weights = {"added": random.standard_normal((1, 8, 1, 1)).astype(np.float32)}
    out = [value("inner", [1, 8, 16, 16])]
    then = helper.make_graph([helper.make_node("Add", ["a", "added"], ["inner"])], "then", [], out)
    other = helper.make_graph([helper.make_node("Sqrt", ["a"], ["inner"])], "else", [], out)
    nodes = [
        *convolution("w0", "image", "a", (8, 3), random, weights),
        helper.make_node("If", ["flag"], ["b"], then_branch=then, else_branch=other),
        *convolution("w1", "b", "result", (8, 8), random, weights)]
    return serialized(nodes, [value("image", [1, 3, 16, 16]), value("flag", [], BOOL)],
                      [value("result", [1, 8, 16, 16])], weights,
                      [value("b", [1, 8, 16, 16])])


def loop():
    """A Loop that multiplies three times, behind a product and in front of one; its first result
    has a declared type, what it collects has none."""
    random = np.random.default_rng(13)
    weights = {name: (random.standard_normal((16, 16)) / 4).astype(np.float32)
               for name in ("v", "w")}
    weights["times"] = np.array(3)
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["goes"]),
         helper.make_node("MatMul", ["state", "w"], ["next"]),
         helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0)],
        "body", [value("i", [], INT64), value("going", [], BOOL), value("state", [4, 16])],
        [value("goes", [], BOOL), value("next", [4, 16]), value("sum", [])])
    nodes = [helper.make_node("MatMul", ["x", "v"], ["a"]),
             helper.make_node("Loop", ["times", "", "a"], ["b", "sums"], body=body),
             helper.make_node("MatMul", ["b", "v"], ["c"]), helper.make_node("Tanh", ["c"], ["y"])]
    return serialized(nodes, [value("x", [4, 16])], [value("y", [4, 16]), value("sums", ["n"])],
                      weights, [value("b", [4, 16])])


def nonzero(batch=3):
    """Which elements of a product are above zero, compressed and unique."""
    random = np.random.default_rng(14)
    weights = {"v": random.standard_normal((16, 8)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "v"], ["a"]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("NonZero", ["b"], ["places"]),
             helper.make_node("Greater", ["b", "half"], ["large"]),
             helper.make_node("Reshape", ["large", "flat"], ["mask"]),
             helper.make_node("Compress", ["b", "mask"], ["values"]),
             helper.make_node("Unique", ["values"], ["distinct"])]
    weights["half"] = np.array(0.5, np.float32)
    weights["flat"] = np.array([-1])
    return serialized(nodes, [value("x", [batch, 16])],
                      [value("places", [2, "n"], INT64), value("distinct", ["m"])], weights)


def counted():
    """As many of the largest as there are above zero, and the slices of a Scan."""
    random = np.random.default_rng(17)
    weights = {"v": random.standard_normal((16, 32)).astype(np.float32),
               "start": np.zeros((4,), np.float32), "axis": np.array([1]), "flat": np.array([-1])}
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "slice"], ["next"]),
         helper.make_node("Tanh", ["next"], ["seen"])],
        "body", [value("state", [4]), value("slice", [4])],
        [value("next", [4]), value("seen", [4])])
    nodes = [helper.make_node("MatMul", ["x", "v"], ["a"]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Reshape", ["b", "flat"], ["row"]),
             helper.make_node("NonZero", ["row"], ["places"]),
             helper.make_node("Shape", ["places"], ["shape"]),
             helper.make_node("Slice", ["shape", "axis", "end"], ["count"]),
             helper.make_node("TopK", ["row", "count"], ["best", "at"]),
             helper.make_node("Scan", ["start", "b"], ["last", "all"], num_scan_inputs=1,
                              scan_input_axes=[1], scan_output_axes=[1], body=body)]
    weights["end"] = np.array([2])
    return serialized(nodes, [value("x", [4, 16])],
                      [value("best", ["n"]), value("at", ["n"], INT64), value("last", [4]),
                       value("all", [4, 32])], weights)


def custom(operator="Frobnicate"):
    """A node of somebody's own domain between two convolutions."""
    random = np.random.default_rng(15)
    weights = {}
    nodes = [*convolution("w0", "image", "a", (8, 3), random, weights),
             helper.make_node(operator, ["a"], ["b"], name="strange", domain="com.example"),
             *convolution("w1", "b", "result", (8, 8), random, weights)]
    return serialized(nodes, [value("image", [1, 3, 16, 16])], [value("result", [1, 8, 16, 16])],
                      weights, [value("b", [1, 8, 16, 16])], ["com.example"])


MODELS = {"detector": detector, "masks": masks, "branches": branches, "loop": loop,
          "nonzero": nonzero, "counted": counted}


def inputs_of(session, seed):
    """Seeded inputs of an onnxruntime session, by name."""
    random = np.random.default_rng(seed)
    feed = {}
    for arg in session.get_inputs():
        shape = [dim if isinstance(dim, int) else 3 for dim in arg.shape]
        feed[arg.name] = (np.array(seed % 2 == 0) if arg.type == "tensor(bool)"
                          else random.standard_normal(shape).astype(np.float32))
    return feed
