#include <algorithm>
#include <vector>

#include "gpu_worker/simulated_gpu/decoder.h"

// Lanes that part at a branch meet again at its immediate post-dominator: the first place through
// which every way from the branch to the kernel's end leads. By an example, in instructions:
//   0: @p bra 3    1: add    2: bra 4    3: sub    4: st    5: ret
// Every way from 0 leads through 4, so that lanes meet at 4. Computed as dominators of the
// reversed graph (Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", 2001), with the
// end as the root and instructions as nodes; a few passes over the kernel.

namespace plait::simulated_gpu {
namespace {

// What can follow an instruction; `end` is the kernel's end.
std::vector<int> Successors(const std::vector<Instruction>& instructions, int at) {
  const auto end = static_cast<int>(instructions.size());
  const Instruction& instruction = instructions[at];
  const bool guarded = instruction.guard >= 0;
  std::vector<int> next;
  if (instruction.kind == Instruction::Kind::kBranch) next.push_back(instruction.target);
  if (instruction.kind == Instruction::Kind::kExit) next.push_back(end);
  if (next.empty() || guarded) next.push_back(std::min(at + 1, end));
  return next;
}

class PostDominators {
 public:
  explicit PostDominators(const std::vector<Instruction>& instructions)
      : end_(static_cast<int>(instructions.size())),
        successors_(end_ + 1),
        order_(end_ + 1, -1),
        next_(end_ + 1, -1) {
    std::vector<std::vector<int>> predecessors(end_ + 1);
    for (int at = 0; at < end_; ++at) {
      successors_[at] = Successors(instructions, at);
      for (int next : successors_[at]) predecessors[next].push_back(at);
    }
    Number(predecessors);
    next_[end_] = end_;
    while (Pass()) {
    }
  }

  // -1 where no way leads to the end.
  int Of(int at) const { return next_[at]; }

 private:
  // Postorder of the reversed graph, from the end, without recursion.
  void Number(const std::vector<std::vector<int>>& predecessors) {
    std::vector<bool> seen(end_ + 1, false);
    std::vector<std::pair<int, size_t>> stack = {{end_, 0}};
    seen[end_] = true;
    while (!stack.empty()) {
      auto& [at, child] = stack.back();
      if (child < predecessors[at].size()) {
        const int before = predecessors[at][child++];
        if (seen[before]) continue;
        seen[before] = true;
        stack.emplace_back(before, 0);
        continue;
      }
      order_[at] = static_cast<int>(postorder_.size());
      postorder_.push_back(at);
      stack.pop_back();
    }
  }

  bool Pass() {
    bool changed = false;
    for (auto at = postorder_.rbegin(); at != postorder_.rend(); ++at) {
      if (*at == end_) continue;
      int common = -1;
      for (int next : successors_[*at]) {
        if (next_[next] < 0) continue;
        common = common < 0 ? next : Common(common, next);
      }
      if (common == next_[*at]) continue;
      next_[*at] = common;
      changed = true;
    }
    return changed;
  }

  int Common(int a, int b) const {
    while (a != b) {
      while (order_[a] < order_[b]) a = next_[a];
      while (order_[b] < order_[a]) b = next_[b];
    }
    return a;
  }

  const int end_;
  std::vector<std::vector<int>> successors_;
  std::vector<int> order_;      // number in postorder; -1: no way to the end
  std::vector<int> postorder_;  // the end last
  std::vector<int> next_;       // immediate post-dominator
};

}  // namespace

void FindReconvergence(std::vector<Instruction>* instructions) {
  const PostDominators dominators(*instructions);
  for (size_t at = 0; at < instructions->size(); ++at) {
    Instruction& instruction = (*instructions)[at];
    if (instruction.kind != Instruction::Kind::kBranch) continue;
    instruction.reconvergence = dominators.Of(static_cast<int>(at));
  }
}

}  // namespace plait::simulated_gpu
