#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "optimizer/ir/rewrite.h"

namespace plait {

// What a part of a rule returns that finds nothing: no rewrites, no view of a node.
struct NoMatch {
  operator Rewrites() const { return {}; }  // NOLINT: is returned where Rewrites are
  template <typename T>
  operator std::optional<T>() const {  // NOLINT: as above
    return std::nullopt;
  }
};

// Where a rule says why it does not apply to nodes whose operators are those of its law: "Conv /a
// has 2 readers". A search does not ask, and pays a comparison for it: reasons are written only
// where somebody does. A value, which refers to what it was made with. Not thread-safe.
class Misses {
 public:
  Misses() = default;  // nobody asks
  explicit Misses(std::vector<std::string>* reasons) : reasons_(reasons) {}

  // `reason` is a text, or a function that writes one.
  template <typename Reason>
  NoMatch Because(const Reason& reason) const {
    if (reasons_ == nullptr) return {};
    if constexpr (std::is_invocable_v<Reason>) {
      reasons_->push_back(reason());
    } else {
      reasons_->emplace_back(reason);
    }
    return {};
  }

 private:
  std::vector<std::string>* reasons_ = nullptr;
};

}  // namespace plait
