#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>

#include "absl/status/statusor.h"
#include "base/limits.h"

namespace plait::wire {

// How to reach a server.
// Files are read by OpenChannel, once; a certificate that is renewed needs a new channel.
struct ServerAddress {
  std::string address;    // "host:port" or "unix:/path"
  std::string ca_file;    // PEM; empty: the system's certificate authorities
  std::string cert_file;  // PEM, of the client; empty: none
  std::string key_file;   // PEM, of `cert_file`
  bool insecure = false;  // no TLS, wherever the server is
  // Of one message. The default is a chunk of the largest size with its fields.
  int message_bytes_max = static_cast<int>(4 * kBlobChunkBytesMax);
};

// A channel to a server; nothing is sent yet. Unix sockets and loopback addresses are spoken to
// without TLS unless a certificate authority is named, all others with TLS unless `insecure`.
// Errors: InvalidArgument for an address of another form, or `insecure` together with files of TLS,
// which would not be used; NotFound for a file that is not there.
// A server that is gone without a word ends all calls with Unavailable after 30 s (see
// keepalive.h). Thread-safe, as is the channel, which connects and reconnects by itself. There is
// no option to trust any server: outside of this machine a name must match its certificate.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const ServerAddress& server);

}  // namespace plait::wire
