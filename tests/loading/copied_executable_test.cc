#include "loading/copied_executable.h"

#include <gtest/gtest.h>

#include "tests/loading/planned_model.h"

namespace plait {
namespace {

// Doubles its input, and says nothing of its memory.
class UnseenExecutable : public Executable {
 public:
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    std::vector<float> doubled;
    for (int64_t i = 0; i < inputs[0].elements(); ++i) {
      doubled.push_back(2 * inputs[0].at<float>(i));
    }
    return std::vector<Tensor>{Floats(inputs[0].type().shape, doubled)};
  }
  absl::StatusOr<std::vector<double>> Time(int) override { return std::vector<double>{7}; }
  absl::Status SetInputs(absl::Span<const Tensor>) override { return absl::OkStatus(); }
  void EvictCaches() override {}
  int fallback_nodes() const override { return 3; }
};

TEST(CopiedExecutableTest, CopiesWhatTheHostDoesNotSee) {
  auto unseen = std::make_unique<UnseenExecutable>();
  EXPECT_EQ(unseen->Bound().status().code(), absl::StatusCode::kUnimplemented);
  const TensorType type{DataType::kFloat32, {2}};
  CopiedExecutable copied(std::move(unseen), {type}, {type});
  const absl::StatusOr<BoundTensors> bound = copied.Bound();
  ASSERT_TRUE(bound.ok()) << bound.status();
  std::vector<float> x = {1, -3}, y(2);
  const BoundCopy before = {bound->inputs[0].data, reinterpret_cast<const std::byte*>(x.data()), 8};
  const BoundCopy after = {reinterpret_cast<std::byte*>(y.data()), bound->outputs[0].data, 8};
  ASSERT_EQ(copied.RunBound({&before, 1}, {&after, 1}), absl::OkStatus());
  EXPECT_EQ(y, (std::vector<float>{2, -6}));
  // Inputs stay as they were written.
  y = {0, 0};
  ASSERT_EQ(copied.RunBound({}, {&after, 1}), absl::OkStatus());
  EXPECT_EQ(y, (std::vector<float>{2, -6}));
  EXPECT_EQ(copied.fallback_nodes(), 3);
}

}  // namespace
}  // namespace plait
