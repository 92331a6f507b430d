#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/large_buffer.h"
#include "optimizer/onnx/model.h"

// Map of this folder: the way in, the way out, and the way around. Only this folder knows ONNX.
//   in      import (read_message, place_initializers, check_names, inline_functions, order_nodes,
//           read_constants) makes a Model; bind (bind_inputs, node_version, fold_node, opaque_node)
//           makes a Graph of it
//   out     export (export_names, expand_nodes, node_version, value_info) writes a Graph as a
//   model;
//           materialize_constants computes its weights; embedded_plan rides in its metadata, as
//           packed_text; attach_plan puts one into the original's bytes
//   around  strip takes weights out of a model's bytes and puts them back, external_data puts those
//           of other files in, weights_in_file tells where they lie (all by rewrite_tensors over
//           protobuf_fields)
//   tensor_proto, attribute_proto, tensor_file   the small messages, both ways
namespace plait {

// Reads a serialized ModelProto of any IR version and of opset kOpsetMin to kOpsetMax, whose
// nodes may stand in any order. The bytes may come from anyone: sizes, node counts and nesting are
// limited before anything is allocated for them, and nothing outside the bytes is opened. They are
// copied, and need not outlive the call.
//
// Functions are inlined. Initializers and Constant nodes become constants; an initializer that is
// listed as an input as well is a constant too (with a warning where it is a default value that a
// caller could override, from IR version 4 on). Weights above kInlineConstantBytesMax are known by
// the SHA-256 of their bytes from here on.
//
// Errors: InvalidArgument naming the thing, for truncated or malformed bytes, opsets outside the
// range, duplicate names, values that nothing produces, cycles, tensors whose data does not fill
// their shape, external data, overloaded functions, names that are not UTF-8; ResourceExhausted
// naming the limit.
absl::StatusOr<Model> ImportOnnx(absl::string_view bytes);

// The same for who has the bytes for nothing else: the model takes them over, and its large weights
// stay where they lie in them, so that they are neither copied nor held twice. They are moved to
// where an element may lie, and hashed, on up to `threads` threads.
absl::StatusOr<Model> ImportOnnx(LargeBuffer bytes, int threads);

}  // namespace plait
