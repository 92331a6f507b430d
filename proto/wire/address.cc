#include "proto/wire/address.h"

#include <string>

#include <arpa/inet.h>

#include "absl/strings/match.h"

namespace plait::wire {

bool IsLocalAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  const std::string host(address.substr(0, colon));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr number = {};
  return inet_pton(AF_INET, host.c_str(), &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
}

}  // namespace plait::wire
