#include "optimizer/rules/patterns/expand_batch_normalization.h"
#include "optimizer/rules/rule.h"

namespace plait {

// Not portable: ONNX Runtime runs the two operators in two passes over memory, and does not put the
// normalization together again.
extern const Rule kBatchNormalizationToScale = {
    .name = "batch_normalization_to_scale",
    .law = "BatchNormalization(x) = x * s + (b - m * s), s = scale / sqrt(variance + epsilon)",
    .root = OpKind::kBatchNormalization,
    .match = ExpandBatchNormalization,
    .always_wins = true,
    .portable = false,
};

}  // namespace plait
