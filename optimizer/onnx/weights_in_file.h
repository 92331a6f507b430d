#pragma once

#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "optimizer/onnx/model.h"

namespace plait {

// Where the weights of a model lie in the bytes that it was imported from: the offset of each whose
// elements stand there one after the other, little-endian, as they do in raw_data and in packed
// floats. Others are left out: weights of other typed fields, of Constant nodes with lists, and of
// functions. For readers that shall not parse models.
//
// An offset is never wrong, whatever the file: the bytes there were compared with the imported
// weight's. Reads those bytes once and hashes nothing. Safe to call from any thread.
// Errors: InvalidArgument for bytes that are no model.
absl::StatusOr<absl::btree_map<Digest, int64_t>> FindWeightsInFile(const Model& model,
                                                                   absl::string_view file);

}  // namespace plait
