#include "optimizer/onnx/model.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/onnx/model_parts.h"

namespace plait {

std::string ModelValue::TypeToString() const {
  if (dtype == DataType::kUndefined) return "undefined";
  if (!has_shape) return absl::StrCat(DataTypeName(dtype), "[...]");
  return absl::StrCat(DataTypeName(dtype), "[",
                      absl::StrJoin(shape, ",",
                                    [](std::string* out, const Dimension& dim) {
                                      if (dim.known()) {
                                        absl::StrAppend(out, dim.size);
                                      } else {
                                        absl::StrAppend(out, dim.symbol.empty() ? "?" : dim.symbol);
                                      }
                                    }),
                      "]");
}

absl::StatusOr<Tensor> ModelWeights::Get(const Digest& digest, const TensorType& type) const {
  const auto found = parts_->weights.find(digest);
  if (found == parts_->weights.end()) {
    return absl::NotFoundError(absl::StrCat("the model has no weight ", digest.ToString()));
  }
  if (!found->second.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("the bytes of weight ", digest.ToString(), " were stripped from the model"));
  }
  const Tensor& weight = *found->second;
  // The type is the caller's: a weight is bytes, which two tensors may read as different types.
  if (static_cast<int64_t>(weight.bytes().size()) != type.bytes()) {
    return absl::NotFoundError(
        absl::StrCat("weight ", digest.ToString(), " does not fill ", type.ToString()));
  }
  // A view: the model's parts own the bytes, and the tensor keeps them alive.
  return Tensor(type, weight.bytes(), parts_);
}

std::vector<Digest> ModelWeights::digests() const {
  std::vector<Digest> digests;
  for (const auto& [digest, weight] : parts_->weights) digests.push_back(digest);
  return digests;
}

int64_t Model::ir_version() const { return parts_->proto.ir_version(); }

int Model::opset() const { return parts_->opset; }

std::vector<OpsetImport> Model::opset_imports() const {
  std::vector<OpsetImport> imports;
  for (const auto& import : parts_->proto.opset_import) {
    imports.push_back({import.domain(), import.version()});
  }
  return imports;
}

std::string Model::producer_name() const { return parts_->proto.producer_name(); }

std::string Model::graph_name() const { return parts_->proto.graph().name(); }

int Model::node_count() const { return static_cast<int>(parts_->proto.graph().node.size()); }

absl::Span<const ModelValue> Model::inputs() const { return parts_->inputs; }

absl::Span<const ModelValue> Model::outputs() const { return parts_->outputs; }

std::vector<std::pair<std::string, std::string>> Model::metadata() const {
  std::vector<std::pair<std::string, std::string>> metadata;
  for (const auto& entry : parts_->proto.metadata_props) {
    metadata.emplace_back(entry.key(), entry.value());
  }
  return metadata;
}

bool Model::weightless() const { return parts_->weightless; }

absl::Span<const std::string> Model::warnings() const { return parts_->warnings; }

}  // namespace plait
