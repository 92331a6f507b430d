#pragma once

#include "absl/status/status.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// Replaces every call of a model-local function, in the graph, its subgraphs and other functions,
// by the function's body, and drops the functions. Values of a body get the prefix
// "<function>_<number of the call>/", so that no two calls meet. ONNX's specification of functions
// is followed in attributes with defaults and in omitted inputs. The model gets the opset imports
// of functions that are called, for domains that it lacks.
// Errors: InvalidArgument for calls of overloaded functions, a function that is defined twice, and
// one that is called and calls itself or imports another opset than the model does;
// ResourceExhausted when the bodies would exceed kModelNodesMax nodes, nest subgraphs deeper than
// kSubgraphDepthMax, or take half a gibibyte more in memory than the model itself.
absl::Status InlineFunctions(onnx::ModelProto* model);

}  // namespace plait
