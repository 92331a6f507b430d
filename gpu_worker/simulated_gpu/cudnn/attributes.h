#pragma once

#include <cstddef>

#include <cudnn.h>

#include "absl/types/span.h"

namespace plait::simulated_gpu {

// What a descriptor's attribute has to be.
struct AttributeRule {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int count_max = 1;
  bool is_required = false;
  // Of a part: the type of descriptor, or that of one of the operations.
  int part = kNoPart;

  static constexpr int kNoPart = -1;
  static constexpr int kAnyOperation = -2;
};

// The attributes that can be set: those that plait sets, and no others. Empty for a type of
// descriptor that is not simulated.
absl::Span<const AttributeRule> RulesOf(cudnnBackendDescriptorType_t type);

// The rule for an attribute, or null.
const AttributeRule* FindRule(cudnnBackendDescriptorType_t type, cudnnBackendAttributeName_t name);

// Bytes of one value.
size_t BytesOf(cudnnBackendAttributeType_t type);

bool IsOperation(cudnnBackendDescriptorType_t type);

}  // namespace plait::simulated_gpu
