#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "optimizer/ir/constant.h"

namespace plait {

// A model without the bytes of its weights, and these bytes as views into the given model.
struct Stripped {
  // A ModelProto in which every large weight says `external_data: location = "plait:<digest>"`
  // where its bytes were. ImportOnnx reads it: all but the values of weights is known.
  std::string skeleton;
  absl::btree_map<Digest, absl::string_view> weights;
};

// Takes the weights out of a serialized ModelProto: the data of the graph's initializers and
// Constant nodes above kInlineConstantBytesMax that lies as plain little-endian elements (raw_data,
// float_data, double_data). What belongs to opaque nodes stays with them. All other bytes stay as
// they are, so that MaterializeWeights restores the very same file. `model` must outlive the
// result's views.
// Errors: InvalidArgument for bytes that are no model, and for a model whose message lengths are
// not encoded in the shortest way, which could not be restored; the limits of ImportOnnx.
absl::StatusOr<Stripped> StripWeights(absl::string_view model);

// The weights of a stripped model, which must outlive it. Safe to read from any thread.
class StrippedWeights : public WeightSource {
 public:
  explicit StrippedWeights(const Stripped& stripped) : stripped_(stripped) {}

  // A copy: where a weight lies in the file suits no element. Errors: NotFound for a digest that
  // the model does not hold, and for one of another size.
  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override;

  bool Has(const Digest& digest) const { return stripped_.weights.contains(digest); }

 private:
  const Stripped& stripped_;
};

// Asks for the bytes of a weight.
using WeightReader = std::function<absl::StatusOr<std::string>(const Digest& digest)>;

// The inverse: MaterializeWeights(StripWeights(m).skeleton, ...) is m, byte for byte. A model that
// was not stripped stays as it is.
// Errors: those of `read`; InvalidArgument when bytes do not have the size of their digest;
// ResourceExhausted when the model would exceed kModelBytesMax.
absl::StatusOr<std::string> MaterializeWeights(absl::string_view skeleton,
                                               const WeightReader& read);

}  // namespace plait
