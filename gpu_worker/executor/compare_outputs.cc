#include "gpu_worker/executor/compare_outputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace plait {
namespace {

// A channel is measured by its own largest value and this share of its output's: what is small
// beside the rest was often computed from the rest, whose rounding it carries.
constexpr double kOutputShare = 0.1;

// 8,192 elements of each side are doubles at a time: an output may be larger than what is left of
// the memory.
constexpr int64_t kBlockElements = 8192;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// NaN is the same as NaN, and an infinity as the same infinity.
bool AreSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

Tensor BlockOf(const Tensor& tensor, int64_t begin, int64_t count) {
  const int64_t element_bytes = BytesOf(tensor.type().dtype);
  const absl::string_view bytes = tensor.bytes().substr(static_cast<size_t>(begin * element_bytes),
                                                        static_cast<size_t>(count * element_bytes));
  return Tensor({tensor.type().dtype, {count}}, bytes, nullptr);
}

// The elements of a block that doubles would round; none of another type.
std::vector<int64_t> LongsOf(const Tensor& block) {
  const DataType dtype = block.type().dtype;
  const bool is_long = dtype == DataType::kInt64 || dtype == DataType::kUint64;
  return is_long ? block.AsInt64s() : std::vector<int64_t>();
}

// |a-b|, 0 only where they are equal.
double LongError(DataType dtype, int64_t a, int64_t b) {
  const bool is_less =
      dtype == DataType::kUint64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  const uint64_t difference = static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
  return static_cast<double>(is_less ? -difference : difference);
}

// Where an element of a row-major output lies: runs of one channel follow each other.
class ChannelWalk {
 public:
  explicit ChannelWalk(const TensorType& type) {
    if (type.rank() < 3) {
      run_ = type.elements();
      return;
    }
    count_ = type.shape[1];
    for (int axis = 2; axis < type.rank(); ++axis) run_ *= type.shape[axis];
  }

  int64_t count() const { return count_; }
  int64_t channel() const { return channel_; }

  void Next() {
    if (++in_run_ < run_) return;
    in_run_ = 0;
    channel_ = channel_ + 1 == count_ ? 0 : channel_ + 1;
  }

 private:
  int64_t count_ = 1;  // channels
  int64_t run_ = 1;    // elements of one channel that lie together
  int64_t channel_ = 0;
  int64_t in_run_ = 0;
};

// Where nothing is to be relative to, the error itself.
double Relative(double error, double scale) { return scale > 0 ? error / scale : error; }

}  // namespace

void OutputComparer::SetDifferent(std::string reason) {
  if (difference_.empty()) difference_ = std::move(reason);
}

void OutputComparer::SetHopeless(size_t index, std::string reason) {
  errors_.max_rel_error = kInfinity;
  errors_.max_channel_error = kInfinity;
  outputs_[index].error.max_rel_error = kInfinity;
  outputs_[index].error.rms_error = kInfinity;
  outputs_[index].error.max_channel_error = kInfinity;
  SetDifferent(std::move(reason));
}

void OutputComparer::Add(absl::Span<const Tensor> original, absl::Span<const Tensor> candidate) {
  ++errors_.inputs_tried;
  outputs_.resize(original.size());
  for (size_t i = 0; i < original.size(); ++i) {
    if (original.size() != candidate.size()) {
      SetHopeless(i, absl::StrCat("the candidate has ", candidate.size(), " outputs, not ",
                                  original.size()));
    } else if (original[i].type() != candidate[i].type()) {
      SetHopeless(i, absl::StrCat("output ", i, " is ", candidate[i].type().ToString(), ", not ",
                                  original[i].type().ToString()));
    } else {
      Compare(i, original[i], candidate[i]);
    }
  }
}

void OutputComparer::Compare(size_t index, const Tensor& original, const Tensor& candidate) {
  // An output of no elements has nothing that could be dead.
  if (original.elements() == 0) {
    outputs_[index].is_alive = true;
    return;
  }
  Judge(index, original.type(), CompareElements(index, original, candidate));
}

// In double, where all but the integers of 8 bytes are exact.
OutputComparer::Channels OutputComparer::CompareElements(size_t index, const Tensor& original,
                                                         const Tensor& candidate) {
  Output& output = outputs_[index];
  const DataType dtype = original.type().dtype;
  ChannelWalk walk(original.type());
  const auto count = static_cast<size_t>(walk.count());
  Channels channels{std::vector<double>(count, 0), std::vector<double>(count, 0)};
  for (int64_t begin = 0; begin < original.elements(); begin += kBlockElements) {
    const int64_t size = std::min(kBlockElements, original.elements() - begin);
    const Tensor blocks[] = {BlockOf(original, begin, size), BlockOf(candidate, begin, size)};
    const std::vector<double> a = blocks[0].AsDoubles();
    const std::vector<double> b = blocks[1].AsDoubles();
    const std::vector<int64_t> long_a = LongsOf(blocks[0]);
    const std::vector<int64_t> long_b = LongsOf(blocks[1]);
    const bool is_long = !long_a.empty();
    if (!output.has_first) {
      output.has_first = true;
      output.first = a[0];
      output.long_first = is_long ? long_a[0] : 0;
    }
    for (size_t i = 0; i < a.size(); ++i, walk.Next()) {
      output.is_alive = output.is_alive || !AreSame(a[i], output.first) ||
                        (is_long && long_a[i] != output.long_first);
      const auto channel = static_cast<size_t>(walk.channel());
      if (std::isfinite(a[i]) && std::isfinite(b[i])) {
        const double error =
            is_long ? LongError(dtype, long_a[i], long_b[i]) : std::abs(a[i] - b[i]);
        channels.largest[channel] = std::max(channels.largest[channel], std::abs(a[i]));
        channels.error[channel] = std::max(channels.error[channel], error);
        channels.squares += error * error;
      } else if (!AreSame(a[i], b[i])) {
        SetHopeless(index,
                    absl::StrCat("output ", index, " element ", begin + static_cast<int64_t>(i),
                                 " is ", b[i], ", not ", a[i]));
      }
    }
  }
  return channels;
}

// Relative to the output's largest value and not element by element: what is nearly 0 is the
// difference of large numbers, whose rounding it carries. See docs/accuracy.md.
void OutputComparer::Judge(size_t index, const TensorType& type, const Channels& channels) {
  OutputError& output = outputs_[index].error;
  const double largest = *std::max_element(channels.largest.begin(), channels.largest.end());
  const double error = *std::max_element(channels.error.begin(), channels.error.end());
  errors_.max_abs_error = std::max(errors_.max_abs_error, error);
  output.max_abs_error = std::max(output.max_abs_error, error);
  if (!IsFloat(type.dtype) && error > 0) {
    return SetHopeless(index, absl::StrCat("output ", index, " differs by ", error));
  }
  const double rel_error = Relative(error, largest);
  const double rms_error = std::sqrt(channels.squares / static_cast<double>(type.elements()));
  output.max_rel_error = std::max(output.max_rel_error, rel_error);
  output.rms_error = std::max(output.rms_error, rms_error);
  errors_.max_rel_error = std::max(errors_.max_rel_error, rel_error);
  if (rel_error > rel_error_max_) {
    SetDifferent(absl::StrCat("output ", index, " differs by ", error,
                              " where the largest value is ", largest));
  }
  for (size_t channel = 0; channel < channels.error.size(); ++channel) {
    const double scale = channels.largest[channel] + kOutputShare * largest;
    const double channel_error = Relative(channels.error[channel], scale);
    errors_.max_channel_error = std::max(errors_.max_channel_error, channel_error);
    output.max_channel_error = std::max(output.max_channel_error, channel_error);
    if (channel_error <= rel_error_max_) continue;
    SetDifferent(absl::StrCat("output ", index, " differs by ", channels.error[channel],
                              " in channel ", channel, " where the largest value is ",
                              channels.largest[channel], " (of the whole output ", largest, ")"));
  }
}

OutputComparison OutputComparer::Result() const {
  OutputComparison result{errors_, ""};
  for (const Output& output : outputs_) {
    if (result.equivalence.outputs.size() == kOutputErrorsMax) break;
    result.equivalence.outputs.push_back(output.error);
  }
  const auto dead = std::find_if(outputs_.begin(), outputs_.end(),
                                 [](const Output& output) { return !output.is_alive; });
  result.equivalence.dead_outputs = dead != outputs_.end();
  result.equivalence.verdict = JudgeErrors(result.equivalence, rel_error_max_);
  if (result.equivalence.verdict == Verdict::kDifferent) {
    result.reason = difference_;
  } else if (result.equivalence.inputs_tried == 0) {
    result.reason = "nothing was compared";
  } else if (result.equivalence.dead_outputs) {
    result.reason = absl::StrCat("output ", dead - outputs_.begin(), " is ", dead->first,
                                 " everywhere, whatever the input");
  }
  return result;
}

}  // namespace plait
