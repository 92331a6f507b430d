#include <algorithm>
#include <cstring>
#include <optional>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

// A matrix of the product, with its batch dimensions in front.
struct Matrix {
  Shape shape;
  Shape strides;
};

// MatMul or Gemm: result = alpha * left * right + beta * addend, then the epilogue.
struct Product {
  TensorId left_tensor;
  TensorId right_tensor;
  TensorId addend = kNoTensor;
  float alpha = 1;
  float beta = 1;
  Matrix left;
  Matrix right;
  Shape result;
};

Matrix PlainMatrix(const Shape& shape) {
  return {shape, StridesOf(TensorType{DataType::kFloat32, shape}, Format::kPlain)};
}

// A transposed matrix is read in place: the two axes change places, the bytes stay.
Matrix TransposedView(Matrix matrix) {
  const size_t rank = matrix.shape.size();
  std::swap(matrix.shape[rank - 2], matrix.shape[rank - 1]);
  std::swap(matrix.strides[rank - 2], matrix.strides[rank - 1]);
  return matrix;
}

Product GemmOf(const Graph& graph, const Node& node) {
  Product product{.left_tensor = node.inputs[0], .right_tensor = node.inputs[1]};
  product.addend = node.inputs.size() > 2 ? node.inputs[2] : kNoTensor;
  product.alpha = node.attributes->Float("alpha", 1.0f);
  product.beta = node.attributes->Float("beta", 1.0f);
  product.left = PlainMatrix(graph.type(node.inputs[0]).shape);
  product.right = PlainMatrix(graph.type(node.inputs[1]).shape);
  if (node.attributes->Int("transA", 0) != 0) product.left = TransposedView(product.left);
  if (node.attributes->Int("transB", 0) != 0) product.right = TransposedView(product.right);
  product.result = graph.type(node.outputs[0]).shape;
  return product;
}

// [2, 128, 768] times [768, 3072] is one product of [256, 768] and no batch of two: the right
// matrix is then read once.
Product MatMulOf(const Graph& graph, const Node& node) {
  Product product{.left_tensor = node.inputs[0], .right_tensor = node.inputs[1]};
  Shape left = graph.type(node.inputs[0]).shape;
  Shape right = graph.type(node.inputs[1]).shape;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 2) {
    // One matrix for the whole batch: the batch is more rows.
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < left.size(); ++i) rows *= left[i];
    left = {rows, left.back()};
  }
  while (left.size() < right.size()) left.insert(left.begin(), 1);
  while (right.size() < left.size()) right.insert(right.begin(), 1);
  product.left = PlainMatrix(left);
  product.right = PlainMatrix(right);
  product.result = left;
  for (size_t i = 0; i + 2 < left.size(); ++i) product.result[i] = std::max(left[i], right[i]);
  product.result.back() = right.back();
  return product;
}

// `right` describes the right matrix.
absl::StatusOr<OnednnDescriptor> DescribeProduct(LoadContext* context, const Product& product,
                                                 const dnnl_memory_desc_t& right,
                                                 const dnnl_memory_desc_t& result,
                                                 dnnl_primitive_attr_t attributes) {
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t left,
                         DescribeStrided(product.left.shape, product.left.strides));
  dnnl_matmul_desc_t operation;
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_matmul_desc_init(&operation, &left, &right, nullptr, &result), "matmul"));
  return context->onednn()->Describe(&operation, attributes);
}

// The blocks in which FmaProduct packs a matrix; nullopt for a matrix of which the library has no
// such blocks, or in which most of a block would be empty.
std::optional<dnnl_memory_desc_t> DescribeFmaBlocks(const ConstantProduct& shape) {
  constexpr int64_t kDepthOfBlock = 16;
  constexpr int64_t kColumnsMin = 64;
  if (shape.depth % kDepthOfBlock != 0 || shape.columns < kColumnsMin) return std::nullopt;
  dnnl_format_tag_t tag = dnnl_format_tag_undef;
  switch (FmaProduct::WideBlockColumns(shape.columns)) {
    case 32:
      tag = dnnl_BA16a32b;
      break;
    case 48:
      tag = dnnl_BA16a48b;
      break;
    default:
      return std::nullopt;
  }
  const dnnl_dims_t dims = {shape.depth, shape.columns};
  dnnl_memory_desc_t description;
  if (dnnl_memory_desc_init_by_tag(&description, 2, dims, dnnl_f32, tag) != dnnl_success) {
    return std::nullopt;
  }
  return description;
}

// A product as the library does it, and its right matrix where that is packed already.
struct DescribedProduct {
  OnednnDescriptor descriptor;
  const void* packed = nullptr;
};

// A constant right matrix may lie as the library likes; one that arrives at run time is read as it
// is.
absl::StatusOr<DescribedProduct> DescribeMatMul(LoadContext* context, const Product& product,
                                                const dnnl_memory_desc_t& result,
                                                dnnl_primitive_attr_t attributes) {
  const bool packs = context->graph().tensor(product.right_tensor).constant != nullptr;
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t right,
                         packs ? DescribeAny(product.right.shape)
                               : DescribeStrided(product.right.shape, product.right.strides));
  DescribedProduct described;
  PLAIT_ASSIGN_OR_RETURN(described.descriptor,
                         DescribeProduct(context, product, right, result, attributes));
  if (!packs || !context->shares_formats() || product.right.shape.size() != 2) return described;
  const ConstantProduct shape{.rows = product.left.shape[0],
                              .depth = product.right.shape[0],
                              .columns = product.right.shape[1],
                              .right_row_floats = product.right.strides[0],
                              .right_column_floats = product.right.strides[1]};
  const std::optional<dnnl_memory_desc_t> blocks = DescribeFmaBlocks(shape);
  if (!blocks.has_value()) return described;
  absl::StatusOr<OnednnDescriptor> in_blocks =
      DescribeProduct(context, product, *blocks, result, attributes);
  // Others may take any format, and take their time.
  if (!in_blocks.ok() ||
      ImplementationOf(in_blocks->get()) != ImplementationOf(described.descriptor.get())) {
    return described;
  }
  PLAIT_ASSIGN_OR_RETURN(const FmaProduct fma,
                         FmaProduct::LoadMatrix(context, shape, product.right_tensor, nullptr));
  return DescribedProduct{*std::move(in_blocks), fma.RightAt(0, 0)};
}

absl::Status AddOperands(LoadContext* context, const Product& product,
                         const DescribedProduct& described,
                         std::vector<OnednnArgument>* arguments) {
  const OnednnDescriptor& descriptor = described.descriptor;
  PLAIT_ASSIGN_OR_RETURN(const Operand left, context->Find(product.left_tensor));
  if (left.format != Format::kPlain) return context->Refuse();
  arguments->push_back({DNNL_ARG_SRC, ChosenDescription(descriptor, DNNL_ARG_SRC), left.data});
  const dnnl_memory_desc_t chosen = ChosenDescription(descriptor, DNNL_ARG_WEIGHTS);
  if (described.packed != nullptr) {
    arguments->push_back({DNNL_ARG_WEIGHTS, chosen, described.packed});
    return absl::OkStatus();
  }
  if (context->graph().tensor(product.right_tensor).constant == nullptr) {
    PLAIT_ASSIGN_OR_RETURN(const Operand right, context->Find(product.right_tensor));
    if (right.format != Format::kPlain) return context->Refuse();
    arguments->push_back({DNNL_ARG_WEIGHTS, chosen, right.data});
    return absl::OkStatus();
  }
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t plain,
                         DescribeStrided(product.right.shape, product.right.strides));
  PLAIT_ASSIGN_OR_RETURN(const std::byte* const packed,
                         PackWeights(context, plain, product.right_tensor, chosen));
  arguments->push_back({DNNL_ARG_WEIGHTS, chosen, packed});
  return absl::OkStatus();
}

// The addend of a Gemm, scaled: at load when it is constant (which beta != 1 requires).
absl::StatusOr<OnednnArgument> AddendOf(LoadContext* context, const Product& product, int index) {
  Shape shape = context->graph().type(product.addend).shape;
  while (shape.size() < product.result.size()) shape.insert(shape.begin(), 1);
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t description,
                         DescribeTensor(shape, Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand addend, context->Find(product.addend));
  if (addend.format != Format::kPlain) return context->Refuse();
  const float* data = addend.floats();
  if (product.beta != 1) {
    const Fingerprint form = FingerprintBuilder().Add("addend").Finish();
    PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                           context->AllocatePacked(addend.type.bytes(), form));
    float* const scaled = reinterpret_cast<float*>(place.data);
    const int64_t count = place.is_packed ? 0 : addend.type.elements();
    for (int64_t i = 0; i < count; ++i) scaled[i] = data[i] * product.beta;
    data = scaled;
  }
  return OnednnArgument{DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1, description, data};
}

// Everything between the product and the epilogue, as attributes.
absl::Status AddScaleAndAddend(LoadContext* context, const Product& product,
                               dnnl_post_ops_t operations, std::vector<OnednnArgument>* arguments) {
  if (product.alpha != 1) {
    PLAIT_RETURN_IF_ERROR(OnednnStatus(
        dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_linear, product.alpha, 0),
        "scale"));
  }
  if (product.addend == kNoTensor) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const OnednnArgument addend,
                         AddendOf(context, product, dnnl_post_ops_len(operations)));
  arguments->push_back(addend);
  return OnednnStatus(dnnl_post_ops_append_binary(operations, dnnl_binary_add, &addend.description),
                      "addend");
}

}  // namespace

// MatMul and Gemm, with what follows applied by the primitive; a constant right matrix is packed.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmul(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  const std::optional<Epilogue> epilogue =
      ParseEpilogue(graph, node.outputs[0], absl::MakeConstSpan(nodes).subspan(1),
                    ChannelAxisOf(graph, nodes[0]));
  if (!epilogue.has_value()) return context->Refuse();
  const Product product = node.op == OpKind::kGemm ? GemmOf(graph, node) : MatMulOf(graph, node);
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(epilogue->result));
  if (result.format != Format::kPlain) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t result_description,
                         DescribeTensor(product.result, Format::kPlain));
  std::vector<OnednnArgument> arguments = {{DNNL_ARG_DST, result_description, result.data}};
  PLAIT_ASSIGN_OR_RETURN(const OnednnAttributes attributes, NewOnednnAttributes());
  PLAIT_ASSIGN_OR_RETURN(const OnednnPostOperations post_operations, NewPostOperations());
  PLAIT_RETURN_IF_ERROR(AddScaleAndAddend(context, product, post_operations.get(), &arguments));
  const EpilogueTarget target = {result_description, Format::kPlain, result_description.ndims - 1};
  PLAIT_RETURN_IF_ERROR(
      AddEpilogue(context, epilogue->operations, target, post_operations.get(), &arguments));
  PLAIT_RETURN_IF_ERROR(SetPostOperations(attributes.get(), post_operations.get()));
  PLAIT_ASSIGN_OR_RETURN(const DescribedProduct described,
                         DescribeMatMul(context, product, result_description, attributes.get()));
  PLAIT_RETURN_IF_ERROR(AddOperands(context, product, described, &arguments));
  return OnednnKernel::Create(context, described.descriptor, arguments);
}

}  // namespace plait
