#include "gpu_worker/simulated_gpu/ptx_module.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/parse_kernel.h"
#include "gpu_worker/simulated_gpu/parse_operand.h"

namespace plait::simulated_gpu {
namespace {

constexpr size_t kTextBytesMax = size_t{64} << 20;

// What stands in front of .entry and of variables and means nothing in a module that is not linked.
bool AcceptLinkage(PtxReader& reader) {
  return reader.Accept(".visible") || reader.Accept(".weak") || reader.Accept(".extern");
}

// .version, .target, .address_size: one line each, whose end is no token.
absl::Status ParseHeader(PtxReader& reader, PtxModule* module) {
  const int line = reader.line();
  const absl::string_view directive = reader.Take();
  const absl::string_view value = reader.Take();
  if (directive == ".target") module->target = std::string(value);
  if (directive == ".address_size" && value != "64") return reader.Error("not 64-bit addresses");
  while (!reader.AtEnd() && reader.line() == line) reader.Take();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PtxModule> ParsePtx(absl::string_view text) {
  if (text.size() > kTextBytesMax) {
    return absl::InvalidArgumentError("more than 64 MiB of PTX");
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<PtxToken> tokens, TokensOf(text));
  PtxReader reader(tokens);
  PtxModule module;
  while (!reader.AtEnd()) {
    if (AcceptLinkage(reader)) continue;
    const absl::string_view token = reader.token();
    if (token == ".version" || token == ".target" || token == ".address_size") {
      PLAIT_RETURN_IF_ERROR(ParseHeader(reader, &module));
    } else if (token == ".global" || token == ".const") {
      PLAIT_ASSIGN_OR_RETURN(PtxVariable variable, ParseVariable(reader));
      PLAIT_RETURN_IF_ERROR(reader.Expect(";"));
      module.variables.push_back(std::move(variable));
    } else if (reader.Accept(".entry")) {
      PLAIT_ASSIGN_OR_RETURN(PtxKernel kernel, ParseKernel(reader));
      module.kernels.push_back(std::move(kernel));
    } else {
      return reader.Error("no directive that is known here");
    }
  }
  return module;
}

}  // namespace plait::simulated_gpu
