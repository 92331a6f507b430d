#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/constant.h"
#include "optimizer/ir/data_type.h"

namespace plait {

// The parsed model; defined in model_parts.h, so that messages stay in this folder.
struct ModelParts;

// A dimension of a model's input or output.
struct Dimension {
  int64_t size = kUnknownSize;
  std::string symbol;  // its name when the size is unknown; may be empty

  static constexpr int64_t kUnknownSize = -1;
  bool known() const { return size != kUnknownSize; }
};

// A model input or output as the file declares it.
struct ModelValue {
  std::string name;
  DataType dtype = DataType::kUndefined;  // kUndefined for sequences, strings and the like
  bool has_shape = false;                 // false: not even the rank is known
  std::vector<Dimension> shape;

  // "float32[batch,3,224,224]"
  std::string TypeToString() const;
};

// An operator set that a model uses; the empty domain is ONNX's own.
struct OpsetImport {
  std::string domain;
  int64_t version = 0;
};

// The bytes of a model's weights, by digest. They are views into the parsed model, which this keeps
// alive; digests were computed once, by import. Safe to read from any thread.
class ModelWeights : public WeightSource {
 public:
  explicit ModelWeights(std::shared_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}

  // Errors: NotFound for a digest that the model does not hold, for one of another size, and for
  // weights that were stripped.
  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override;

  // The digests of all weights that the model names, ascending, each once.
  std::vector<Digest> digests() const;

 private:
  std::shared_ptr<const ModelParts> parts_;
};

// What import gives: an ONNX model that was checked, with its functions inlined, before its
// symbolic dimensions are bound (bind.h). A value that is cheap to copy; safe to read from any
// thread.
class Model {
 public:
  explicit Model(std::shared_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}

  int64_t ir_version() const;
  // The version of ONNX's own operators; kOpsetMax when the model uses none of them.
  int opset() const;
  std::vector<OpsetImport> opset_imports() const;
  std::string producer_name() const;
  std::string graph_name() const;
  // Nodes after inlining, Constant nodes included, subgraphs' nodes not.
  int node_count() const;

  // In order; an input that has an initializer is a constant and not listed.
  absl::Span<const ModelValue> inputs() const;
  absl::Span<const ModelValue> outputs() const;

  // The model's metadata_props, in file order.
  std::vector<std::pair<std::string, std::string>> metadata() const;

  // True when weights were stripped (strip.h): they are known by digest only.
  bool weightless() const;

  ModelWeights weights() const { return ModelWeights(parts_); }

  // What was unusual about the model, each a sentence for the report.
  absl::Span<const std::string> warnings() const;

  // For this folder only.
  const std::shared_ptr<const ModelParts>& parts() const { return parts_; }

 private:
  std::shared_ptr<const ModelParts> parts_;
};

}  // namespace plait
