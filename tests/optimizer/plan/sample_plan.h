#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/plan/plan.h"
#include "tests/fakes/fake_device.h"

namespace plait {

// The tensor of this name; kNoTensor when there is none.
TensorId TensorNamed(const Graph& graph, absl::string_view name);

// Six nodes: %b and %c are parallel branches behind %a; %e is a view of their sum %d.
Graph SampleGraph();

// The values of SamplePlan, in order.
constexpr int kValueX = 0;
constexpr int kValueA = 1;
constexpr int kValueB = 2;
constexpr int kValueC = 3;
constexpr int kValueD = 4;
constexpr int kValueE = 5;
constexpr int kValueY = 6;

// A step of one node, of width 1, whose inputs and output are row-major values.
Step StepOf(NodeId node, int stream, std::vector<int> inputs, int output, std::vector<int> waits);

// A right plan of SampleGraph: the branches run on two streams; %d lies where %a was.
Plan SamplePlan(const Graph& graph);

// The same with the branch of %c in channels_last: %a and %c get a second value each, and reorders
// between.
Plan ReorderingPlan(const Graph& graph);

}  // namespace plait
