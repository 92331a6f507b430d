#include "optimizer/ir/constant.h"

#include "gtest/gtest.h"

namespace plait {
namespace {

const TensorType kConstantType{DataType::kFloat32, {2}};

ConstantRef AppliedConstant(OpKind op, Attributes attributes, std::vector<ConstantRef> inputs,
                            int output) {
  return std::make_shared<const Constant>(
      kConstantType,
      Constant::Apply{op, MakeAttributes(std::move(attributes)), std::move(inputs), output});
}

TEST(ConstantTest, EqualExpressionsHaveEqualFingerprints) {
  const ConstantRef a = Constant::OfSynthetic(kConstantType, 1);
  const ConstantRef same = Constant::OfSynthetic(kConstantType, 1);
  EXPECT_EQ(AppliedConstant(OpKind::kMul, {}, {a, a}, 0)->fingerprint(),
            AppliedConstant(OpKind::kMul, {}, {a, same}, 0)->fingerprint());
}

TEST(ConstantTest, EveryPartChangesTheFingerprint) {
  const ConstantRef a = Constant::OfSynthetic(kConstantType, 1);
  const ConstantRef b = Constant::OfSynthetic(kConstantType, 2);
  const std::vector<ConstantRef> all = {
      a,
      b,
      Constant::OfSynthetic({DataType::kFloat32, {1, 2}}, 1),
      Constant::OfWeight(kConstantType, DigestOf("12345678")),
      Constant::OfWeight(kConstantType, DigestOf("87654321")),
      Constant::OfTensor(Tensor::Of<float>({2}, {1, 2})),
      Constant::OfTensor(Tensor::Of<float>({2}, {1, 3})),
      AppliedConstant(OpKind::kMul, {}, {a, b}, 0),
      AppliedConstant(OpKind::kMul, {}, {b, a}, 0),
      AppliedConstant(OpKind::kMul, {}, {a, b}, 1),
      AppliedConstant(OpKind::kMul, {}, {a, b, nullptr}, 0),
      AppliedConstant(OpKind::kAdd, {}, {a, b}, 0),
      AppliedConstant(OpKind::kMul, {{"axis", 1}}, {a, b}, 0),
  };
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(all[i]->fingerprint(), all[j]->fingerprint()) << i << " " << j;
    }
  }
}

TEST(ConstantTest, DepthCountsNestedExpressions) {
  const ConstantRef leaf = Constant::OfSynthetic(kConstantType, 1);
  const ConstantRef once = AppliedConstant(OpKind::kRelu, {}, {leaf}, 0);
  EXPECT_EQ(leaf->depth(), 1);
  EXPECT_EQ(once->depth(), 2);
  EXPECT_EQ(AppliedConstant(OpKind::kAdd, {}, {leaf, once, nullptr}, 0)->depth(), 3);
}

TEST(ConstantTest, OnlyInlineConstantsShowTheirValue) {
  EXPECT_EQ(Constant::OfSynthetic(kConstantType, 1)->inline_value(), nullptr);
  const ConstantRef constant = Constant::OfTensor(Tensor::ScalarInt64(5));
  ASSERT_NE(constant->inline_value(), nullptr);
  EXPECT_EQ(*constant->inline_value(), Tensor::ScalarInt64(5));
}

}  // namespace
}  // namespace plait
