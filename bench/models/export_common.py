"""What every exporter does with a model once it has one: clean it, check it, write it."""

import os
import pathlib

import onnx
import onnxruntime

import sample_inputs


class DeadModel(Exception):
    """An exported model whose outputs would pass any equivalence check."""


def finish(model, path):
    """Writes the model to `path` with its weights inline, if it is valid and alive.

    Raises DeadModel when its outputs are not finite, constant, or deaf to the input.
    """
    remove_traces(model)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A partial file must never look like a finished one.
    partial = path.with_suffix(".partial")
    partial.write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(str(partial))
    faults = sample_inputs.liveness_faults(open_session(partial))
    if faults:
        raise DeadModel(f"{path.name}: {'; '.join(faults)} (left at {partial})")
    partial.replace(path)
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    print(f"{path.name}: {len(model.graph.node)} nodes, opset {opset}, IR {model.ir_version}, "
          f"{path.stat().st_size / 1e6:.1f} MB, outputs are alive", flush=True)


def open_session(path, threads=None, optimizes=True):
    """Returns an ONNX Runtime session that leaves warnings about the model unsaid."""
    options = onnxruntime.SessionOptions()
    if not optimizes:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads or min(2, os.cpu_count() or 1)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def remove_traces(model):
    """Drops doc strings and node metadata: exporters put stack traces with local paths there."""
    _remove_graph_traces(model.graph)
    for function in model.functions:
        function.doc_string = ""
        del function.metadata_props[:]
        for node in function.node:
            _remove_node_traces(node)
    model.doc_string = ""
    del model.metadata_props[:]


def _remove_graph_traces(graph):
    graph.doc_string = ""
    del graph.metadata_props[:]
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.doc_string = ""
        del value.metadata_props[:]
    for node in graph.node:
        _remove_node_traces(node)


def _remove_node_traces(node):
    node.doc_string = ""
    del node.metadata_props[:]
    for attribute in node.attribute:
        attribute.doc_string = ""
        for graph in (attribute.g, *attribute.graphs):
            if graph.node:
                _remove_graph_traces(graph)
