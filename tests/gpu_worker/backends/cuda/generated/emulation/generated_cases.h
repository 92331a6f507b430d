#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// Small problems with awkward sizes, at least two for each generated family.
struct GeneratedCase {
  std::string name;
  Problem problem;
};

std::vector<GeneratedCase> GeneratedCases();

// Every family with every precision that it has kernels for.
using FamilyForm = std::tuple<const GeneratedFamily*, Precision>;
std::vector<FamilyForm> FamilyForms();

// What a kernel reads through an argument that is neither indices nor an output.
const std::vector<float>& FloatsOf(const KernelArgument& argument, const HostOperands& operands);

}  // namespace plait::cuda
