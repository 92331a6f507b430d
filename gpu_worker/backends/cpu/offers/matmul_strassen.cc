#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/strassen_product.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

bool RunsMatmulStrassen(const Graph& graph, NodeId node) {
  const std::optional<ConstantProduct> product = ConstantProductAt(graph, node);
  return product.has_value() && IsStrassenProduct(*product);
}

}  // namespace

const FamilyOffer kMatmulStrassenOffer = {
    .name = "matmul_strassen",
    .runs = RunsMatmulStrassen,
    .needs_admission = true,
    .instruction_set = "avx2",
    .grow = GrowBehind<RunsMatmulStrassen>,
    .formats = PlainRow,
    .expected_share = [](const Kernel&) { return 0.72; },
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
