#include "optimizer/ir/rewrite_batch.h"

#include <algorithm>
#include <utility>

namespace plait {

std::vector<std::pair<NodeId, RewriteBatch::Use>> RewriteBatch::UsesOf(
    const Rewrite& rewrite) const {
  std::vector<std::pair<NodeId, Use>> uses;
  const auto read = [&](TensorId tensor) {
    if (tensor < 0 || tensor >= graph_.tensor_count()) return;
    const NodeId producer = graph_.tensor(tensor).producer;
    if (producer != kNoNode) uses.emplace_back(producer, kRead);
  };
  for (const NodeId node : rewrite.removed) {
    uses.emplace_back(node, kChanged);
    for (const TensorId input : graph_.node(node).inputs) read(input);
  }
  for (const Rewrite::NewNode& added : rewrite.added) {
    for (const TensorId input : added.inputs) read(input);
  }
  for (const auto& [from, to] : rewrite.rewired) {
    read(to);
    read(from);
    for (const NodeId user : graph_.users(from)) uses.emplace_back(user, kChanged);
  }
  return uses;
}

bool RewriteBatch::NamesWhatThereIs(const Rewrite& rewrite) const {
  const bool has_nodes =
      std::is_sorted(rewrite.removed.begin(), rewrite.removed.end()) &&
      (rewrite.removed.empty() ||
       (rewrite.removed.front() >= 0 && rewrite.removed.back() < graph_.node_count()));
  return has_nodes && std::all_of(rewrite.rewired.begin(), rewrite.rewired.end(), [&](auto& pair) {
           return pair.first >= 0 && pair.first < graph_.tensor_count() && pair.second >= 0;
         });
}

// The new nodes stand where the last removed one stood. The others stay in their order when all
// that the new ones read comes before that place, and all that reads them behind it.
bool RewriteBatch::KeepsOrder(const Rewrite& rewrite) const {
  const auto producer_of = [&](TensorId tensor) {
    const bool is_old = tensor >= 0 && tensor < graph_.tensor_count();
    return is_old ? graph_.tensor(tensor).producer : kNoNode;
  };
  const auto is_removed = [&](NodeId node) {
    return std::binary_search(rewrite.removed.begin(), rewrite.removed.end(), node);
  };
  const NodeId place = rewrite.removed.empty() ? kNoNode : rewrite.removed.back();
  if (place == kNoNode && !rewrite.added.empty()) return false;
  for (const Rewrite::NewNode& added : rewrite.added) {
    for (const TensorId input : added.inputs) {
      if (producer_of(input) >= place) return false;
    }
  }
  for (const auto& [from, to] : rewrite.rewired) {
    const NodeId first = to < graph_.tensor_count() ? producer_of(to) : place;
    for (const NodeId user : graph_.users(from)) {
      if (user <= first && !is_removed(user)) return false;
    }
  }
  return true;
}

bool RewriteBatch::Add(Rewrite rewrite) {
  const bool fits = NamesWhatThereIs(rewrite) && KeepsOrder(rewrite);
  if (!rewrites_.empty() && (is_full_ || !fits)) return false;
  if (!fits) {
    is_full_ = true;
    rewrites_.push_back(std::move(rewrite));
    return true;
  }
  const std::vector<std::pair<NodeId, Use>> uses = UsesOf(rewrite);
  for (const auto& [node, use] : uses) {
    if (uses_[node] == kChanged || (uses_[node] == kRead && use == kChanged)) return false;
  }
  for (const auto& [node, use] : uses) uses_[node] = std::max(uses_[node], use);
  rewrites_.push_back(std::move(rewrite));
  return true;
}

}  // namespace plait
