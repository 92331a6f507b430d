#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/ir/fingerprint.h"
#include "optimizer/ir/tensor.h"

// What a node says beside its inputs: the axis of a Concat, the pads of a Conv. Values are checked
// where an operator reads them, so that a model with a wrong attribute can still be carried.
namespace plait {

// Bytes that plait carries along without understanding them: a serialized ONNX attribute (a
// subgraph, a sparse tensor) or a whole serialized node.
struct OpaqueBytes {
  std::string bytes;
  friend bool operator==(const OpaqueBytes&, const OpaqueBytes&) = default;
};

// The kinds of values that ONNX knows, but for sparse tensors, graphs and types, which stay bytes.
using AttributeValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, Tensor, OpaqueBytes>;

// The attributes of a node, sorted by name, so that equal sets have equal entries whatever order a
// model writes them in. Few per node: a lookup is a search in a sorted vector. Immutable once
// shared (see AttributesRef).
class Attributes {
 public:
  // Name and value.
  using Entry = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  // In any order; the last of equal names wins.
  Attributes(std::initializer_list<Entry> entries);

  // Adds or replaces.
  void Set(absl::string_view name, AttributeValue value);
  // Does nothing when there is no such attribute.
  void Erase(absl::string_view name);

  // nullptr when there is no such attribute.
  const AttributeValue* Find(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Find(name) != nullptr; }

  // For operators, whose attributes have defaults: the value, or `otherwise` when the attribute is
  // missing or of another type.
  int64_t Int(absl::string_view name, int64_t otherwise) const;
  float Float(absl::string_view name, float otherwise) const;
  std::string String(absl::string_view name, absl::string_view otherwise) const;
  std::vector<int64_t> Ints(absl::string_view name, std::vector<int64_t> otherwise = {}) const;

  // Ascending by name.
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  // Equal exactly for equal entries. Kept up to date by every change, so reading it costs nothing.
  const Fingerprint& fingerprint() const { return fingerprint_; }

  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<Entry> entries_;
  Fingerprint fingerprint_;
};

// Graphs share attributes: a candidate is a flat copy that never copies them. Never null in a node.
using AttributesRef = std::shared_ptr<const Attributes>;

// The one empty set.
AttributesRef NoAttributes();
inline AttributesRef MakeAttributes(Attributes attributes) {
  return std::make_shared<const Attributes>(std::move(attributes));
}

}  // namespace plait
