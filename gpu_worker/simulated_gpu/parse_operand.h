#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/simulated_gpu/ptx_module.h"
#include "gpu_worker/simulated_gpu/ptx_tokens.h"

namespace plait::simulated_gpu {

// Tokens with a place among them. The last token is empty and is never passed.
class PtxReader {
 public:
  // `tokens`: as of TokensOf(). They have to live as long as the reader.
  explicit PtxReader(const std::vector<PtxToken>& tokens) : tokens_(tokens) {}

  absl::string_view token() const { return tokens_[at_].text; }
  int line() const { return tokens_[at_].line; }
  bool AtEnd() const { return token().empty(); }
  // Returns the token and goes to the next.
  absl::string_view Take();
  // Passes `token` if it is the next.
  bool Accept(absl::string_view token);
  // Errors: kInvalidArgument if the next token is another.
  absl::Status Expect(absl::string_view token);
  // An error that names the line of the next token.
  absl::Status Error(absl::string_view message) const;

 private:
  const std::vector<PtxToken>& tokens_;
  size_t at_ = 0;
};

// Reads one operand. Errors: kInvalidArgument with the line.
absl::StatusOr<PtxOperand> ParseOperand(PtxReader& reader);

// Reads a number with its sign: an integer, decimal or hexadecimal, or the bits of 0f... and 0d...
// Errors: kInvalidArgument with the line.
absl::StatusOr<PtxOperand> ParseNumber(PtxReader& reader);

}  // namespace plait::simulated_gpu
