#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/loaded_model.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// How many trials to make of a plan beside itself, and beside one with kernels planted in it.
struct TrialCounts {
  int equal = 0;
  int planted = 0;
};

// Makes the trials of one model; what it found as members of a JSON object.
using Trial =
    absl::FunctionRef<absl::StatusOr<std::string>(Executor& executor, const KernelCatalog& catalog,
                                                  const LoadedModel& model, TrialCounts counts)>;

// The main of a program `NAME EQUAL PLANTED MODEL.onnx...`: prints an object a line for each model,
// whose plan is made of kernels that were measured shortly, with pinned threads. Returns its exit
// code.
int TrialsMain(const char* name, int argc, char** argv, Trial trial);

}  // namespace plait
