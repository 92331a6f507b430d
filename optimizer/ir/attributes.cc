#include "optimizer/ir/attributes.h"

#include <algorithm>
#include <bit>

namespace plait {
namespace {

// Floats count by their bits, so that fingerprints are equal when the texts are: a NaN has one too,
// and 0.0 is not -0.0.
struct AddAttributeValue {
  FingerprintBuilder& builder;

  void operator()(int64_t value) const { builder.Add(value); }
  void operator()(float value) const { builder.Add(uint64_t{std::bit_cast<uint32_t>(value)}); }
  void operator()(const std::string& value) const { builder.Add(value); }
  void operator()(const Tensor& value) const {
    builder.Add(FingerprintOf(value.type())).Add(value.bytes());
  }
  void operator()(const OpaqueBytes& value) const { builder.Add(value.bytes); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    builder.Add(uint64_t{values.size()});
    for (const T& value : values) (*this)(value);
  }
};

// The alternative's index keeps the integer 1 apart from the float of the same bits.
Fingerprint EntryFingerprint(const Attributes::Entry& entry) {
  FingerprintBuilder builder;
  builder.Add(entry.first).Add(uint64_t{entry.second.index()});
  std::visit(AddAttributeValue{builder}, entry.second);
  return builder.Finish();
}

template <typename Entries>
auto LowerBound(Entries& entries, absl::string_view name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Attributes::Entry& entry, absl::string_view n) { return entry.first < n; });
}

}  // namespace

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) Set(entry.first, entry.second);
}

// The fingerprint is a sum over the entries, so that a change costs one entry and not all of them.
void Attributes::Set(absl::string_view name, AttributeValue value) {
  Erase(name);
  const auto place =
      entries_.insert(LowerBound(entries_, name), Entry(std::string(name), std::move(value)));
  fingerprint_ = fingerprint_ + EntryFingerprint(*place);
}

void Attributes::Erase(absl::string_view name) {
  const auto place = LowerBound(entries_, name);
  if (place == entries_.end() || place->first != name) return;
  fingerprint_ = fingerprint_ - EntryFingerprint(*place);
  entries_.erase(place);
}

const AttributeValue* Attributes::Find(absl::string_view name) const {
  const auto place = LowerBound(entries_, name);
  return place != entries_.end() && place->first == name ? &place->second : nullptr;
}

int64_t Attributes::Int(absl::string_view name, int64_t otherwise) const {
  const AttributeValue* value = Find(name);
  const int64_t* found = value != nullptr ? std::get_if<int64_t>(value) : nullptr;
  return found != nullptr ? *found : otherwise;
}

float Attributes::Float(absl::string_view name, float otherwise) const {
  const AttributeValue* value = Find(name);
  const float* found = value != nullptr ? std::get_if<float>(value) : nullptr;
  return found != nullptr ? *found : otherwise;
}

std::string Attributes::String(absl::string_view name, absl::string_view otherwise) const {
  const AttributeValue* value = Find(name);
  const std::string* found = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return found != nullptr ? *found : std::string(otherwise);
}

std::vector<int64_t> Attributes::Ints(absl::string_view name,
                                      std::vector<int64_t> otherwise) const {
  const AttributeValue* value = Find(name);
  const auto* found = value != nullptr ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  return found != nullptr ? *found : otherwise;
}

AttributesRef NoAttributes() {
  // Shared by most nodes of most graphs.
  static const AttributesRef none = std::make_shared<const Attributes>();
  return none;
}

}  // namespace plait
