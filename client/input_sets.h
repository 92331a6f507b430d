#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/arguments.h"
#include "client/client.h"
#include "optimizer/ir/tensor.h"

namespace plait {

// --inputs DIR of the verbs that make jobs: inputs of the user's own, on which outputs are
// compared.
inline constexpr OptionSpec kInputsOption = {
    "--inputs", OptionKind::kText, "DIR",
    "also compare outputs on input_<i>.pb (TensorProto) or <name>.npy; once for each set"};

// Reads the folders that the arguments name, for the model of these bytes with the shapes that the
// arguments give it, and writes their names and digests to the request's options. Returns the
// values, which are to be uploaded before the request is sent. The model is read only if there are
// folders.
// Errors: those of ReadInputs, with the folder; InvalidArgument (MODEL_REJECTED) for a model that
// cannot be read; those of wire::CheckedOptions for more than a job may have.
// REQUIRES: kInputsOption and kShapeOption were among the options parsed.
absl::StatusOr<std::vector<Tensor>> ReadInputSets(const Arguments& arguments,
                                                  absl::string_view model,
                                                  v1::OptimizeModelRequest& request);

// Uploads the model, and the values of its inputs, as the request needs them.
// Errors: those of Client::Upload.
absl::Status UploadBlobs(const Client& client, absl::string_view model,
                         const std::vector<Tensor>& inputs, v1::OptimizeModelRequest& request);

}  // namespace plait
