#include "gpu_worker/simulated_gpu/parse_operand.h"

#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait::simulated_gpu {
namespace {

bool IsDigit(absl::string_view token) {
  return !token.empty() && std::isdigit(static_cast<unsigned char>(token[0])) != 0;
}

// The word without its sign. Suffix U: unsigned, which the bits do not show.
bool ReadInteger(absl::string_view word, uint64_t* bits) {
  absl::ConsumeSuffix(&word, "U");
  if (absl::StartsWith(word, "0x") || absl::StartsWith(word, "0X")) {
    return absl::SimpleHexAtoi(word, bits);
  }
  return absl::SimpleAtoi(word, bits);
}

absl::StatusOr<PtxOperand> ParseAddress(PtxReader& reader) {
  PtxOperand address{.kind = PtxOperand::Kind::kAddress};
  if (!IsDigit(reader.token())) {
    if (!IsWord(reader.token())) return reader.Error("an address has to begin with a name");
    address.name = std::string(reader.Take());
  }
  // [%rd1], [%rd1+8], [%rd1+-8], [16]
  if (reader.token() != "]") {
    reader.Accept("+");
    PLAIT_ASSIGN_OR_RETURN(const PtxOperand offset, ParseNumber(reader));
    if (offset.kind != PtxOperand::Kind::kInteger) return reader.Error("no offset");
    address.bits = offset.bits;
  }
  PLAIT_RETURN_IF_ERROR(reader.Expect("]"));
  return address;
}

absl::StatusOr<PtxOperand> ParseVector(PtxReader& reader) {
  PtxOperand vector{.kind = PtxOperand::Kind::kVector};
  do {
    PLAIT_ASSIGN_OR_RETURN(PtxOperand part, ParseOperand(reader));
    if (!part.parts.empty()) return reader.Error("a vector in a vector");
    vector.parts.push_back(std::move(part));
  } while (reader.Accept(","));
  PLAIT_RETURN_IF_ERROR(reader.Expect("}"));
  return vector;
}

}  // namespace

absl::string_view PtxReader::Take() {
  const absl::string_view taken = token();
  if (!AtEnd()) ++at_;
  return taken;
}

bool PtxReader::Accept(absl::string_view token) {
  if (this->token() != token || AtEnd()) return false;
  ++at_;
  return true;
}

absl::Status PtxReader::Expect(absl::string_view token) {
  if (Accept(token)) return absl::OkStatus();
  return Error(absl::StrCat("\"", token, "\" is expected"));
}

absl::Status PtxReader::Error(absl::string_view message) const {
  return absl::InvalidArgumentError(
      absl::StrCat("PTX line ", line(), " at \"", token().substr(0, 60), "\": ", message));
}

absl::StatusOr<PtxOperand> ParseNumber(PtxReader& reader) {
  const bool negative = reader.Accept("-");
  const absl::string_view word = reader.token();
  PtxOperand number{.kind = PtxOperand::Kind::kInteger};
  const bool single = absl::StartsWith(word, "0f") || absl::StartsWith(word, "0F");
  const bool twice = absl::StartsWith(word, "0d") || absl::StartsWith(word, "0D");
  if (single || twice) {
    if (word.size() != (single ? 10u : 18u) || !absl::SimpleHexAtoi(word.substr(2), &number.bits)) {
      return reader.Error("not the bits of a float");
    }
    number.kind = single ? PtxOperand::Kind::kFloat : PtxOperand::Kind::kDouble;
    if (negative) number.bits ^= uint64_t{1} << (single ? 31 : 63);
  } else if (ReadInteger(word, &number.bits)) {
    if (negative) number.bits = ~number.bits + 1;
  } else {
    return reader.Error("a number is expected");
  }
  reader.Take();
  return number;
}

absl::StatusOr<PtxOperand> ParseOperand(PtxReader& reader) {
  if (reader.Accept("[")) return ParseAddress(reader);
  if (reader.Accept("{")) return ParseVector(reader);
  if (reader.token() == "-" || IsDigit(reader.token())) return ParseNumber(reader);
  PtxOperand operand;
  operand.negated = reader.Accept("!");
  if (!IsWord(reader.token())) return reader.Error("an operand is expected");
  operand.name = std::string(reader.Take());
  if (reader.Accept("|")) {
    if (!IsWord(reader.token())) return reader.Error("a name is expected");
    PtxOperand second;
    second.name = std::string(reader.Take());
    PtxOperand pair{.kind = PtxOperand::Kind::kPair};
    pair.parts = {std::move(operand), std::move(second)};
    return pair;
  }
  return operand;
}

}  // namespace plait::simulated_gpu
