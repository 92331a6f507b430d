#include <cstdio>
#include <cstdlib>
#include <string>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "base/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/grpc_status.h"

// Answers every call with an error, for clients in other languages to read. The method's name says
// which one: a reason without its prefix, or one of the words below. Prints its port, and ends when
// its standard input does.
namespace plait {
namespace {

absl::Status ErrorCalled(const std::string& name) {
  if (name == "FIELD") return wire::FieldError("options.threads", "must be 0 to 1024, is -1");
  if (name == "BLOB") return wire::MissingBlobError(DigestOf("model"), "model is not here");
  if (name == "LONG") {
    // Each of its bytes takes three in a header, so that no error takes more room.
    std::string text;
    while (text.size() < 5000) text += "ö";
    return wire::FieldError(text, text);
  }
  if (name == "PLAIN") return absl::AbortedError("a reason was not given");
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  v1::ErrorReason_Parse("ERROR_REASON_" + name, &reason);
  return wire::Error(reason, "conv3: größer als erlaubt");
}

class Refusal : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class ErrorService : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::string& path = context->method();
    const std::string name = path.substr(path.rfind('/') + 1);
    return new Refusal(wire::ToGrpcStatus(ErrorCalled(name)));
  }
};

int Serve() {
  ErrorService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return EXIT_FAILURE;
  std::printf("%d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace plait

int main() { return plait::Serve(); }
