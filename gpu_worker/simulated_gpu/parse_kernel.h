#pragma once

#include "absl/status/statusor.h"
#include "gpu_worker/simulated_gpu/parse_operand.h"
#include "gpu_worker/simulated_gpu/ptx_module.h"

namespace plait::simulated_gpu {

// Reads what follows ".entry": name, parameters, directives and body.
// Errors: kInvalidArgument with the line.
absl::StatusOr<PtxKernel> ParseKernel(PtxReader& reader);

// Reads a variable or parameter from its space on, without what ends it:
// ".shared .align 4 .b8 tile[4224]", ".param .u64 p", ".global .u32 n = 7".
// Errors: kInvalidArgument with the line.
absl::StatusOr<PtxVariable> ParseVariable(PtxReader& reader);

}  // namespace plait::simulated_gpu
