#include <algorithm>

#include "base/status_macros.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

struct Box {
  float top = 0;
  float left = 0;
  float bottom = 0;
  float right = 0;

  float area() const { return (bottom - top) * (right - left); }
};

// Two opposite corners in any order, or centre, width and height.
Box ReadBox(const float* values, bool is_centred) {
  if (is_centred) {
    const float half_width = values[2] / 2;
    const float half_height = values[3] / 2;
    return {values[1] - half_height, values[0] - half_width, values[1] + half_height,
            values[0] + half_width};
  }
  return {std::min(values[0], values[2]), std::min(values[1], values[3]),
          std::max(values[0], values[2]), std::max(values[1], values[3])};
}

// Whether two boxes have more than this share of their union in common.
bool Overlap(const Box& a, const Box& b, float share) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float common = height * width;
  return common / (a.area() + b.area() - common) > share;
}

struct Limits {
  int64_t per_class = 0;
  float overlap = 0;
  std::optional<float> score;
};

// The best boxes of one class of one image, best first, and of equal scores the one that comes
// first: each that overlaps none before it.
std::vector<int64_t> BestBoxes(const std::vector<Box>& boxes, const float* scores,
                               const Limits& limits) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!limits.score.has_value() || scores[i] > *limits.score) {
      order.push_back(static_cast<int64_t>(i));
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> best;
  for (const int64_t candidate : order) {
    if (static_cast<int64_t>(best.size()) >= limits.per_class) break;
    const bool is_free = std::none_of(best.begin(), best.end(), [&](int64_t chosen) {
      return Overlap(boxes[candidate], boxes[chosen], limits.overlap);
    });
    if (is_free) best.push_back(candidate);
  }
  return best;
}

absl::StatusOr<float> OneNumber(const Tensor& given, float without) {
  if (!given.type().known()) return without;
  if (given.elements() != 1 || given.type().dtype != DataType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat("a threshold must be one float32, is ", given.type().ToString()));
  }
  return given.at<float>(0);
}

absl::StatusOr<Limits> ReadLimits(absl::Span<const Tensor> inputs) {
  Limits limits;
  const Tensor& per_class = InputOr(inputs, 2);
  if (per_class.type().known()) {
    if (per_class.elements() != 1 || per_class.type().dtype != DataType::kInt64) {
      return absl::InvalidArgumentError(
          absl::StrCat("the number of boxes must be one int64, is ", per_class.type().ToString()));
    }
    limits.per_class = per_class.at<int64_t>(0);
  }
  PLAIT_ASSIGN_OR_RETURN(limits.overlap, OneNumber(InputOr(inputs, 3), 0));
  if (InputOr(inputs, 4).type().known()) {
    PLAIT_ASSIGN_OR_RETURN(limits.score, OneNumber(InputOr(inputs, 4), 0));
  }
  return limits;
}

absl::Status CheckBoxTypes(const TensorType& boxes, const TensorType& scores) {
  const bool are_floats = boxes.dtype == DataType::kFloat32 && scores.dtype == DataType::kFloat32;
  if (are_floats && boxes.rank() == 3 && scores.rank() == 3 && boxes.shape[2] == 4 &&
      boxes.shape[0] == scores.shape[0] && boxes.shape[1] == scores.shape[2]) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("boxes ", boxes.ToString(), " and scores ",
                                                 scores.ToString(), " do not belong together"));
}

}  // namespace

// Rows of image, class and box: of each class the best boxes that do not overlap a better one.
absl::StatusOr<HostOperator> MakeNonMaxSuppression(const HostNode& node) {
  const bool is_centred = node.Integer("center_point_box", 0) != 0;
  return [is_centred](absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, 2));
    PLAIT_RETURN_IF_ERROR(CheckBoxTypes(inputs[0].type(), inputs[1].type()));
    PLAIT_ASSIGN_OR_RETURN(const Limits limits, ReadLimits(inputs));
    const std::vector<float> corners = ElementsAs<float>(inputs[0]);
    const std::vector<float> scores = ElementsAs<float>(inputs[1]);
    const Shape& shape = inputs[1].type().shape;
    std::vector<int64_t> rows;
    for (int64_t image = 0; image < shape[0]; ++image) {
      std::vector<Box> boxes;
      for (int64_t i = 0; i < shape[2]; ++i) {
        boxes.push_back(ReadBox(&corners[(image * shape[2] + i) * 4], is_centred));
      }
      for (int64_t kind = 0; kind < shape[1]; ++kind) {
        const float* const of_kind = scores.data() + (image * shape[1] + kind) * shape[2];
        for (const int64_t box : BestBoxes(boxes, of_kind, limits)) {
          rows.insert(rows.end(), {image, kind, box});
        }
      }
    }
    return std::vector<Tensor>{
        Tensor::Of<int64_t>({static_cast<int64_t>(rows.size()) / 3, 3}, rows)};
  };
}

}  // namespace plait
