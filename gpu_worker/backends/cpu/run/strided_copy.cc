#include "gpu_worker/backends/cpu/run/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "gpu_worker/backends/cpu/team/team.h"

// A tensor of 1x3x4x5 from row-major to channels-last. Its distances by axis are 60, 20, 5, 1
// before and 60, 1, 15, 3 after. The axis of size 1 goes; the others, sorted by where they lie in
// the target, are H (4: 5 to 15), W (5: 1 to 3), C (3: 20 to 1). A step along H is five steps along
// W on both sides, so that the two are one axis of 20 pixels (1 to 3), which C does not continue.
// So there are 20 runs of 3 elements, read at distance 20 and written side by side.
// A part of a row-major concat along channels lies alike on both sides: all its axes merge into one
// run, which is one memcpy, cut into 64 pieces for the threads where that comes out even.

namespace plait {
namespace {

// Copies are memory-bound from here on; below, dividing them costs more than it gains.
constexpr int64_t kDividedBytesMin = 65536;

// A type per size, so that the compiler moves elements in registers; a memcpy of a size known only
// at run time would be a call for each.
template <typename Element>
void CopyElements(const std::byte* source, int64_t source_stride, std::byte* target,
                  int64_t target_stride, int64_t size) {
  const Element* from = reinterpret_cast<const Element*>(source);
  Element* to = reinterpret_cast<Element*>(target);
  for (int64_t i = 0; i < size; ++i) to[i * target_stride] = from[i * source_stride];
}

}  // namespace

StridedCopy::StridedCopy(int64_t element_bytes, const Shape& shape, const StridedElements& source,
                         const StridedElements& target)
    : element_bytes_(element_bytes), source_(source.data), target_(target.data) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) axes.push_back({shape[i], source.strides[i], target.strides[i]});
  }
  // Writing front to back is kinder to the caches than reading so.
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.target_stride > b.target_stride; });
  for (const Axis& axis : axes) {
    Axis* const last = outer_.empty() ? nullptr : &outer_.back();
    if (last != nullptr && last->source_stride == axis.source_stride * axis.size &&
        last->target_stride == axis.target_stride * axis.size) {
      *last = {last->size * axis.size, axis.source_stride, axis.target_stride};
    } else {
      outer_.push_back(axis);
    }
  }
  if (!outer_.empty()) {
    inner_ = outer_.back();
    outer_.pop_back();
  }
  for (const Axis& axis : outer_) runs_ *= axis.size;
  // A single run is divided too.
  constexpr int64_t kPartsMax = 64;
  if (runs_ == 1 && inner_.size % kPartsMax == 0 && inner_.size > kPartsMax) {
    const int64_t part = inner_.size / kPartsMax;
    outer_.assign(1, {kPartsMax, inner_.source_stride * part, inner_.target_stride * part});
    inner_.size = part;
    runs_ = kPartsMax;
  }
}

void StridedCopy::Run(int threads) const {
  const bool divides = runs_ * inner_.size * element_bytes_ >= kDividedBytesMin;
  ForEachPart(divides ? threads : 1, runs_,
              [this](int64_t begin, int64_t end, int) { CopyRuns(begin, end); });
}

// The place of each run is computed anew from its number: a few divisions against a run of many
// elements, and no state that threads would have to share.
void StridedCopy::CopyRuns(int64_t begin, int64_t end) const {
  const bool contiguous = inner_.source_stride == 1 && inner_.target_stride == 1;
  for (int64_t run = begin; run < end; ++run) {
    int64_t rest = run;
    int64_t from = 0;
    int64_t to = 0;
    for (auto axis = outer_.rbegin(); axis != outer_.rend(); ++axis) {
      const int64_t index = rest % axis->size;
      rest /= axis->size;
      from += index * axis->source_stride;
      to += index * axis->target_stride;
    }
    const std::byte* const source = source_ + from * element_bytes_;
    std::byte* const target = target_ + to * element_bytes_;
    if (contiguous) {
      std::memcpy(target, source, static_cast<size_t>(inner_.size * element_bytes_));
    } else if (element_bytes_ == 4) {
      CopyElements<uint32_t>(source, inner_.source_stride, target, inner_.target_stride,
                             inner_.size);
    } else if (element_bytes_ == 8) {
      CopyElements<uint64_t>(source, inner_.source_stride, target, inner_.target_stride,
                             inner_.size);
    } else if (element_bytes_ == 2) {
      CopyElements<uint16_t>(source, inner_.source_stride, target, inner_.target_stride,
                             inner_.size);
    } else {
      CopyElements<uint8_t>(source, inner_.source_stride, target, inner_.target_stride,
                            inner_.size);
    }
  }
}

absl::Status CopyKernel::Run() {
  for (const StridedCopy& copy : copies_) copy.Run(threads_);
  return absl::OkStatus();
}

}  // namespace plait
