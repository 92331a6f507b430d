#include <algorithm>
#include <numeric>
#include <type_traits>

#include "base/status_macros.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

// The slices that are compared with each other, each as a row of `width` elements.
struct Rows {
  int64_t count = 0;
  int64_t width = 1;
};

// NaNs are behind everything else, and no two are equal.
template <typename T>
int Compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return static_cast<int>(a != a) - static_cast<int>(b != b);
  }
  return static_cast<int>(b < a) - static_cast<int>(a < b);
}

template <typename T>
class Grouping {
 public:
  Grouping(std::vector<T> values, Rows rows) : values_(std::move(values)), rows_(rows) {}

  // The rows in ascending order, equal ones as they came.
  std::vector<int64_t> Order() const {
    std::vector<int64_t> order(static_cast<size_t>(rows_.count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return CompareRows(a, b) < 0; });
    return order;
  }

  bool AreEqual(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < rows_.width; ++i) {
      if (values_[a * rows_.width + i] != values_[b * rows_.width + i]) return false;
    }
    return true;
  }

 private:
  int CompareRows(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < rows_.width; ++i) {
      const int order = Compare<T>(values_[a * rows_.width + i], values_[b * rows_.width + i]);
      if (order != 0) return order;
    }
    return 0;
  }

  const std::vector<T> values_;
  const Rows rows_;
};

// The groups of equal rows: their first rows, in the order of the result, and which group each row
// belongs to.
struct Groups {
  std::vector<int64_t> first;
  std::vector<int64_t> of_row;
  std::vector<int64_t> counts;
};

template <typename T>
Groups GroupsOf(std::vector<T> values, Rows rows, bool is_sorted) {
  const Grouping<T> grouping(std::move(values), rows);
  const std::vector<int64_t> order = grouping.Order();
  std::vector<std::vector<int64_t>> members;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool is_new = i == 0 || !grouping.AreEqual(order[i - 1], order[i]);
    if (is_new) members.emplace_back();
    members.back().push_back(order[i]);
  }
  if (!is_sorted) {
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.front() < b.front(); });
  }
  Groups groups;
  groups.of_row.resize(static_cast<size_t>(rows.count));
  for (const std::vector<int64_t>& group : members) {
    for (const int64_t row : group) {
      groups.of_row[row] = static_cast<int64_t>(groups.first.size());
    }
    groups.first.push_back(group.front());
    groups.counts.push_back(static_cast<int64_t>(group.size()));
  }
  return groups;
}

// The slices along an axis, one after the other.
std::string SlicesOf(const Tensor& x, const AroundAxis& seen) {
  std::string slices;
  slices.reserve(x.bytes().size());
  for (int64_t index = 0; index < seen.size; ++index) {
    for (int64_t outer = 0; outer < seen.outer; ++outer) {
      const int64_t at = (outer * seen.size + index) * seen.inner_bytes;
      slices.append(x.bytes().data() + at, static_cast<size_t>(seen.inner_bytes));
    }
  }
  return slices;
}

// The first slices of the groups, back in their places around the axis.
std::string FirstOf(const Tensor& x, const AroundAxis& seen, const Groups& groups) {
  std::string bytes;
  for (int64_t outer = 0; outer < seen.outer; ++outer) {
    for (const int64_t index : groups.first) {
      const int64_t at = (outer * seen.size + index) * seen.inner_bytes;
      bytes.append(x.bytes().data() + at, static_cast<size_t>(seen.inner_bytes));
    }
  }
  return bytes;
}

absl::StatusOr<Groups> GroupsOf(const Tensor& x, const AroundAxis& seen, bool is_sorted) {
  const Rows rows = {seen.size, seen.outer * (seen.inner_bytes / BytesOf(x.type().dtype))};
  const Tensor slices({x.type().dtype, {rows.count, rows.width}}, SlicesOf(x, seen));
  switch (x.type().dtype) {
    case DataType::kFloat32:
      return GroupsOf(ElementsAs<float>(slices), rows, is_sorted);
    case DataType::kUint64:
      return GroupsOf(ElementsAs<uint64_t>(slices), rows, is_sorted);
    case DataType::kFloat64:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return GroupsOf(slices.AsDoubles(), rows, is_sorted);
    default:
      return GroupsOf(slices.AsInt64s(), rows, is_sorted);
  }
}

absl::StatusOr<std::vector<Tensor>> Unique(const Tensor& x, std::optional<int64_t> given_axis,
                                           bool is_sorted) {
  TensorType type = x.type();
  if (!given_axis.has_value()) type.shape = {x.elements()};
  PLAIT_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(given_axis.value_or(0), type.rank()));
  const AroundAxis seen = SeenAround(type, axis);
  PLAIT_ASSIGN_OR_RETURN(const Groups groups, GroupsOf(x, seen, is_sorted));
  type.shape[axis] = static_cast<int64_t>(groups.first.size());
  return std::vector<Tensor>{Tensor(type, FirstOf(x, seen, groups)), Tensor::Int64s(groups.first),
                             Tensor::Int64s(groups.of_row), Tensor::Int64s(groups.counts)};
}

}  // namespace

// The different slices along an axis, or elements of all, ascending or by their first place; where
// each first is, which each one is, and how many there are of it.
absl::StatusOr<HostOperator> MakeUnique(const HostNode& node) {
  const std::optional<int64_t> axis = node.OptionalInteger("axis");
  const bool is_sorted = node.Integer("sorted", 1) != 0;
  return [axis, is_sorted](absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, 1));
    return Unique(inputs[0], axis, is_sorted);
  };
}

}  // namespace plait
