#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/gate/runtime_pairs.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// Reads models and makes their inputs, seeded, at the shapes given; what one of them leaves open
// has the size that it has in the first plan inside any of them, else 1 where it counts the
// examples of a batch, of which each is named in `warnings`.
// Errors: those of ReadModelFile, ImportModelBytes, BindToRun and MakeInputs, naming the file.
absl::StatusOr<std::vector<GatedFile>> ReadGatedFiles(absl::Span<const std::string> paths,
                                                      const Bindings& shapes, uint64_t seed,
                                                      std::vector<std::string>* warnings);

}  // namespace plait
