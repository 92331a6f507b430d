#include "gpu_worker/simulated_gpu/replay/operation.h"

namespace plait::simulated_gpu {

void SlotSet::Add(int slot) {
  const auto word = static_cast<size_t>(slot / 64);
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= uint64_t{1} << (slot % 64);
}

bool SlotSet::Has(int slot) const {
  const auto word = static_cast<size_t>(slot / 64);
  return word < words_.size() && (words_[word] >> (slot % 64) & 1) != 0;
}

void SlotSet::Join(const SlotSet& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

}  // namespace plait::simulated_gpu
