#include "optimizer/ops/shared/attention.h"

#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

// BERT-base on 128 tokens: query, key and value are [1, 12, 128, 64] or packed as [1, 128, 768],
// where a head is 64 columns of every row. Of each head the scores, query * key^T, are 128 x 128
// floats, 64 KiB: they are written by the first product, normalized row by row and read by the
// second one while they lie in the second-level cache of one core. All twelve at once, which is
// what a node per operation makes, are 768 KiB that are written and read again as a whole.
//
// Threads take whole heads: with four of them three heads each, and nothing is shared but what is
// read. Neither packed heads nor key^T are copied by us; both are distances that the product's
// description carries. The scale is applied while a row is normalized, so that it costs no pass.

namespace plait {
namespace {

// Where the heads of a tensor lie: [batch, heads, sequence, size], or packed [batch, sequence,
// heads * size]. Distances in elements.
struct Heads {
  float* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  float* At(int64_t batch, int64_t head) const {
    return data + batch * batch_stride + head * head_stride;
  }
};

Heads HeadsOf(const Operand& operand, int64_t heads) {
  const Shape& shape = operand.type.shape;
  const Shape strides = operand.strides();
  if (shape.size() == 4) return {operand.floats(), strides[0], strides[1], strides[2]};
  return {operand.floats(), strides[0], shape[2] / heads, strides[1]};
}

// A product of matrices whose places change from head to head: one primitive per thread, because
// memory objects are its own. It depends on the distances alone, which all heads have in common;
// only addresses change.
class HeadProduct {
 public:
  struct Matrices {
    dnnl_memory_desc_t left;
    dnnl_memory_desc_t right;
    dnnl_memory_desc_t result;
  };

  static absl::StatusOr<HeadProduct> Create(LoadContext* context, const Matrices& matrices) {
    HeadProduct product;
    product.onednn_ = context->onednn();
    dnnl_matmul_desc_t operation;
    PLAIT_RETURN_IF_ERROR(
        OnednnStatus(dnnl_matmul_desc_init(&operation, &matrices.left, &matrices.right, nullptr,
                                           &matrices.result),
                     "matmul"));
    PLAIT_ASSIGN_OR_RETURN(const OnednnAttributes attributes, NewOnednnAttributes());
    PLAIT_ASSIGN_OR_RETURN(const OnednnDescriptor descriptor,
                           context->onednn()->Describe(&operation, attributes.get()));
    dnnl_primitive_t primitive = nullptr;
    PLAIT_RETURN_IF_ERROR(
        OnednnStatus(dnnl_primitive_create(&primitive, descriptor.get()), "matmul"));
    product.primitive_.reset(primitive);
    const dnnl_memory_desc_t scratch = ChosenDescription(descriptor, DNNL_ARG_SCRATCHPAD);
    PLAIT_ASSIGN_OR_RETURN(
        std::byte* const scratch_data,
        context->AllocateScratch(static_cast<int64_t>(dnnl_memory_desc_get_size(&scratch))));
    // The first three get their addresses before each run and only need one that is not null until
    // then.
    const std::pair<int, dnnl_memory_desc_t> arguments[] = {{DNNL_ARG_SRC, matrices.left},
                                                            {DNNL_ARG_WEIGHTS, matrices.right},
                                                            {DNNL_ARG_DST, matrices.result},
                                                            {DNNL_ARG_SCRATCHPAD, scratch}};
    for (const auto& [index, description] : arguments) {
      dnnl_memory_t memory = nullptr;
      PLAIT_RETURN_IF_ERROR(OnednnStatus(
          dnnl_memory_create(&memory, &description, context->onednn()->engine(), scratch_data),
          "memory"));
      product.memories_.emplace_back(memory);
      product.arguments_.push_back({index, memory});
    }
    return product;
  }

  // Setting an address is a store; making a memory object for each head would allocate.
  absl::Status Run(const float* left, const float* right, float* result) {
    dnnl_memory_set_data_handle(memories_[0].get(), const_cast<float*>(left));
    dnnl_memory_set_data_handle(memories_[1].get(), const_cast<float*>(right));
    dnnl_memory_set_data_handle(memories_[2].get(), result);
    return OnednnStatus(
        dnnl_primitive_execute(primitive_.get(), onednn_->stream(),
                               static_cast<int>(arguments_.size()), arguments_.data()),
        "matmul");
  }

 private:
  Onednn* onednn_ = nullptr;
  OnednnPrimitive primitive_;
  std::vector<OnednnMemory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// What one thread needs: the scores of one head stay in its caches between the two products.
struct Lane {
  HeadProduct scores;   // query * key^T
  HeadProduct results;  // weights * value
  float* block = nullptr;
  absl::Status status;
};

class AttentionKernel : public CpuKernel {
 public:
  AttentionKernel(int threads, const AttentionShape& shape, float scale)
      : threads_(threads), shape_(shape), scale_(scale) {}

  absl::Status Prepare(LoadContext* context, const Node& node);

  absl::Status Run() override {
    ForEachPart(threads_, shape_.batch * shape_.heads, [&](int64_t begin, int64_t end, int thread) {
      Lane& lane = lanes_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const absl::Status status = RunHead(i / shape_.heads, i % shape_.heads, &lane);
        if (!status.ok()) lane.status = status;
      }
    });
    for (const Lane& lane : lanes_) PLAIT_RETURN_IF_ERROR(lane.status);
    return absl::OkStatus();
  }

 private:
  absl::Status AddLane(LoadContext* context);

  absl::Status RunHead(int64_t batch, int64_t head, Lane* lane) const {
    const int64_t key_head = head / (shape_.heads / shape_.key_heads);
    PLAIT_RETURN_IF_ERROR(
        lane->scores.Run(query_.At(batch, head), key_.At(batch, key_head), lane->block));
    for (int64_t i = 0; i < shape_.queries; ++i) NormalizeRow(batch, head, i, lane->block);
    return lane->results.Run(lane->block, value_.At(batch, key_head), result_.At(batch, head));
  }

  // `row` becomes softmax(row * scale + mask), in place.
  void NormalizeRow(int64_t batch, int64_t head, int64_t query, float* block) const {
    float* const row = block + query * shape_.keys;
    const float* mask = nullptr;
    if (mask_ != nullptr) {
      mask = mask_ + batch * mask_strides_[0] + head * mask_strides_[1] + query * mask_strides_[2];
      // A query that may attend to no key gets zeros.
      if (Loops().maximum(mask, shape_.keys) == -std::numeric_limits<float>::infinity()) {
        std::fill(row, row + shape_.keys, 0.0f);
        return;
      }
    }
    Loops().softmax_row({row, mask, row, shape_.keys, scale_, false});
  }

  int threads_;
  AttentionShape shape_;
  float scale_;
  Heads query_;
  Heads key_;
  Heads value_;
  Heads result_;
  const float* mask_ = nullptr;
  int64_t mask_strides_[3] = {0, 0, 0};  // along batch, heads, queries; 0 repeats
  std::vector<Lane> lanes_;
};

// Called once per thread, while the kernel loads.
absl::Status AttentionKernel::AddLane(LoadContext* context) {
  const Shape scores = {shape_.queries, shape_.keys};
  HeadProduct::Matrices first;
  PLAIT_ASSIGN_OR_RETURN(first.left,
                         DescribeStrided({shape_.queries, shape_.size}, {query_.row_stride, 1}));
  PLAIT_ASSIGN_OR_RETURN(first.right,
                         DescribeStrided({shape_.size, shape_.keys}, {1, key_.row_stride}));
  PLAIT_ASSIGN_OR_RETURN(first.result, DescribeTensor(scores, Format::kPlain));
  HeadProduct::Matrices second;
  second.left = first.result;
  PLAIT_ASSIGN_OR_RETURN(second.right,
                         DescribeStrided({shape_.keys, shape_.value_size}, {value_.row_stride, 1}));
  PLAIT_ASSIGN_OR_RETURN(
      second.result, DescribeStrided({shape_.queries, shape_.value_size}, {result_.row_stride, 1}));
  Lane lane;
  PLAIT_ASSIGN_OR_RETURN(lane.scores, HeadProduct::Create(context, first));
  PLAIT_ASSIGN_OR_RETURN(lane.results, HeadProduct::Create(context, second));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const block,
                         context->AllocateScratch(shape_.queries * shape_.keys * 4));
  lane.block = reinterpret_cast<float*>(block);
  lanes_.push_back(std::move(lane));
  return absl::OkStatus();
}

absl::Status AttentionKernel::Prepare(LoadContext* context, const Node& node) {
  Operand operands[4];
  const TensorId tensors[] = {node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[0]};
  for (int i = 0; i < 4; ++i) {
    PLAIT_ASSIGN_OR_RETURN(operands[i], context->Find(tensors[i]));
    if (operands[i].format != Format::kPlain) return context->Refuse();
  }
  query_ = HeadsOf(operands[0], shape_.heads);
  key_ = HeadsOf(operands[1], shape_.key_heads);
  value_ = HeadsOf(operands[2], shape_.key_heads);
  result_ = HeadsOf(operands[3], shape_.heads);
  if (node.inputs.size() > 3 && node.inputs[3] != kNoTensor) {
    PLAIT_ASSIGN_OR_RETURN(const Operand mask, context->Find(node.inputs[3]));
    if (mask.format != Format::kPlain) return context->Refuse();
    mask_ = mask.floats();
    const Shape strides = mask.strides();
    const int lead = 4 - mask.type.rank();
    for (int i = lead; i < 3; ++i) {
      mask_strides_[i] = mask.type.shape[i - lead] == 1 ? 0 : strides[i - lead];
    }
  }
  // Each thread runs whole heads, so its products are one thread wide.
  const TeamWidthScope width(1);
  for (int i = 0; i < threads_; ++i) PLAIT_RETURN_IF_ERROR(AddLane(context));
  return absl::OkStatus();
}

}  // namespace

// Row-major or packed heads in, the same out; masks are added, and repeat along axes of size 1.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadAttention(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kAttentionOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  const TensorType types[] = {graph.input_type(nodes[0], 0), graph.input_type(nodes[0], 1),
                              graph.input_type(nodes[0], 2)};
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape, ReadAttentionShape(*node.attributes, types));
  const float scale = static_cast<float>(AttentionScale(*node.attributes, shape));
  auto kernel = std::make_unique<AttentionKernel>(context->width(), shape, scale);
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context, node));
  return kernel;
}

}  // namespace plait
