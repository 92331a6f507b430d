#pragma once

#include <cstdint>
#include <set>

#include "optimizer/plan/plan.h"

// What steps do, by their definitions: nothing is measured. Pure and thread-safe.
// REQUIRES: the plan is of this graph and has passed CheckPlan.
namespace plait {

// Floating-point operations; a multiply-add counts as two. 0 for steps that only move or convert.
int64_t FlopsOf(const Step& step, const Graph& graph);

// The weights that a step's kernel reads, each once.
std::set<TensorId> WeightsOf(const Step& step, const Graph& graph);

// Inputs, outputs and weights of a step, each once; what its kernel keeps on the chip is not in the
// plan. A weight counts for each step that reads it.
int64_t OffchipBytes(const Step& step, const Plan& plan, const Graph& graph);

// Those of all steps.
int64_t OffchipBytes(const Plan& plan, const Graph& graph);

// Whether the step computes nothing and is no view, nor a Concat of what lies in its result.
bool IsCopy(const Step& step, const Plan& plan, const Graph& graph);

}  // namespace plait
