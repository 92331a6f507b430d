#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_descriptor.h"
#include "base/process.h"

namespace plait {

// A private plaitd with its worker, for one run of the program. It lives in a cache folder, where
// profiles and results stay for the next run. Only one program at a time uses a cache folder:
// two that measure on the same processor would disturb each other, so the second one waits.
// The server dies with this process, however that ends.
//
// Trusted as this program is: it is started without TLS on a unix socket in the cache folder.
// Whatever kills this process kills the server, too, and its jobs stay in the store; the next
// session cancels them.
class EmbeddedServer {
 public:
  struct Options {
    // A path, not searched for in PATH.
    std::string program;       // the plaitd to start
    std::string cache_folder;  // is created when it is not there
    std::string device = "cpu";
    // Cores that the worker may use.
    int threads = 0;  // of the worker; 0: all
    // The best that it may use; empty: all that there are.
    std::string instruction_set;
  };

  // Starts the server and waits until it listens. Waiting for another program is told on
  // `messages`. REQUIRES: the calling thread outlives the server.
  // Errors: Unavailable with the end of the server's log when it does not start; those of the file
  // system, naming the cache folder.
  // PermissionDenied when the folder lies in one that everybody may write into, such as /tmp, and
  // somebody else owns it or may write into it; InvalidArgument when the folder's path is too long
  // for a socket. Waits for another program without a limit, and for the server at most half a
  // minute.
  static absl::StatusOr<std::unique_ptr<EmbeddedServer>> Start(const Options& options,
                                                               std::ostream& messages);

  // Nothing runs yet: use Start.
  EmbeddedServer() = default;
  // Asks the server to stop, and kills it when it does not within some seconds.
  ~EmbeddedServer();
  EmbeddedServer(const EmbeddedServer&) = delete;
  EmbeddedServer& operator=(const EmbeddedServer&) = delete;

  // "unix:PATH"
  // Valid once Start has returned.
  const std::string& address() const { return address_; }

  // Whether the server still runs. Thread-safe.
  // Errors: Unavailable naming its log when it has ended, by a signal for instance.
  absl::Status CheckRunning() const;

 private:
  // The kernel drops the lock with the process, so a crash leaves none behind.
  absl::Status Lock(const Options& options, std::ostream& messages);
  absl::Status Spawn(const Options& options);
  // The first line on its standard output says that it listens.
  absl::Status AwaitListening();

  std::string address_;
  std::string socket_path_;
  std::string log_path_;
  FileDescriptor lock_;    // closed last: the next program may then use the folder
  FileDescriptor output_;  // the server's standard output
  Process process_;
};

}  // namespace plait
