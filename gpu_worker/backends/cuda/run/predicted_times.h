#pragma once

#include <vector>

#include "optimizer/cost/described_device.h"
#include "optimizer/plan/plan.h"

// What stands in for times on a simulated device. Never a measurement, and never called one: who
// asks a simulated device for a time is told a prediction for an H200.
namespace plait::cuda {

// Of each step, in microseconds; 0 for a step that the description does not know, as one that runs
// on the host. Pure.
std::vector<double> PredictSteps(const DescribedDevice& device, const plait::Graph& graph,
                                 const Plan& plan);

// Of a whole run: the plan's schedule, simulated. Pure.
double PredictRun(const DescribedDevice& device, const plait::Graph& graph, const Plan& plan);

}  // namespace plait::cuda
