#pragma once

#include <list>
#include <optional>
#include <string>

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>

#include "absl/strings/str_cat.h"
#include "proto/wire/grpc_status.h"
#include "server/services/method.h"
#include "server/services/request_memory.h"
#include "server/services/service_context.h"

namespace plait {

// The messages of a call that takes a stream of them, each weighed before it is parsed. A message
// is forgotten when the next one is read. Not thread-safe.
template <typename Request>
class WeighedReader final : public grpc::ServerReaderInterface<Request> {
 public:
  // Both must outlive the reader.
  WeighedReader(RequestMemory& memory, grpc::ServerReader<grpc::ByteBuffer>& reader)
      : memory_(memory), reader_(reader) {}

  // False at the end of the stream, and for a message that is refused: see status().
  bool Read(Request* message) override {
    share_.reset();
    grpc::ByteBuffer bytes;
    if (!status_.ok() || !reader_.Read(&bytes)) return false;
    absl::StatusOr<RequestMemory::Share> share = memory_.Parse(bytes, *message);
    status_ = share.status();
    if (share.ok()) share_.emplace(*std::move(share));
    return status_.ok();
  }
  bool NextMessageSize(uint32_t* size) override { return reader_.NextMessageSize(size); }
  void SendInitialMetadata() override { reader_.SendInitialMetadata(); }

  // Why a message was refused; OK while none was.
  const absl::Status& status() const { return status_; }

 private:
  RequestMemory& memory_;
  grpc::ServerReader<grpc::ByteBuffer>& reader_;
  std::optional<RequestMemory::Share> share_;
  absl::Status status_;
};

// A gRPC service that asks a handler, and reads requests by ServiceContext::request_memory: gRPC's
// own services parse whatever comes before anything of ours has seen it. It registers its methods
// as the services do that gRPC generates, with bytes in the place of requests.
template <typename Handler>
class WeighedService final : public grpc::Service {
 public:
  // `context` must outlive the service. `name` is the service's name in the protos, with its
  // package. All methods are added before a server has the service.
  WeighedService(const ServiceContext& context, absl::string_view name)
      : context_(context), handler_(context), name_(name.data(), name.size()) {}

  // An RPC of one request and one response.
  template <typename Request, typename Response>
  void Add(Method method,
           grpc::Status (Handler::*rpc)(grpc::ServerContext*, const Request*, Response*)) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        PathOf(method), grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<WeighedService, grpc::ByteBuffer, Response,
                                             grpc::ByteBuffer, grpc::protobuf::MessageLite>(
            [method, rpc](WeighedService* service, grpc::ServerContext* call,
                          const grpc::ByteBuffer* bytes, Response* response) {
              Request request;
              const auto share = service->context_.request_memory.Parse(*bytes, request);
              if (!share.ok()) return service->Refuse(method, share.status());
              return (service->handler_.*rpc)(call, &request, response);
            },
            this)));
  }

  // One that answers with a stream, for as long as the caller likes.
  template <typename Request, typename Response>
  void Add(Method method, grpc::Status (Handler::*rpc)(grpc::ServerContext*, const Request*,
                                                       grpc::ServerWriter<Response>*)) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        PathOf(method), grpc::internal::RpcMethod::SERVER_STREAMING,
        new grpc::internal::ServerStreamingHandler<WeighedService, grpc::ByteBuffer, Response>(
            [method, rpc](WeighedService* service, grpc::ServerContext* call,
                          const grpc::ByteBuffer* bytes, grpc::ServerWriter<Response>* writer) {
              Request request;
              const absl::Status status =
                  service->context_.request_memory.ParseSmall(*bytes, request);
              if (!status.ok()) return service->Refuse(method, status);
              return (service->handler_.*rpc)(call, &request, writer);
            },
            this)));
  }

  // One that takes a stream. A message that is refused ends the call with that error.
  template <typename Request, typename Response>
  void Add(Method method,
           grpc::Status (Handler::*rpc)(grpc::ServerContext*, grpc::ServerReaderInterface<Request>*,
                                        Response*)) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        PathOf(method), grpc::internal::RpcMethod::CLIENT_STREAMING,
        new grpc::internal::ClientStreamingHandler<WeighedService, grpc::ByteBuffer, Response>(
            [rpc](WeighedService* service, grpc::ServerContext* call,
                  grpc::ServerReader<grpc::ByteBuffer>* reader, Response* response) {
              WeighedReader<Request> weighed(service->context_.request_memory, *reader);
              const grpc::Status status = (service->handler_.*rpc)(call, &weighed, response);
              return weighed.status().ok() ? status : wire::ToGrpcStatus(weighed.status());
            },
            this)));
  }

 private:
  // Refused calls count, too: they are what an operator looks for.
  grpc::Status Refuse(Method method, const absl::Status& status) {
    context_.metrics.RpcEnded(MethodName(method), absl::StatusCodeToString(status.code()),
                              absl::ZeroDuration());
    return wire::ToGrpcStatus(status);
  }

  // gRPC keeps the pointer.
  const char* PathOf(Method method) {
    return paths_.emplace_back(absl::StrCat("/", name_, "/", MethodName(method))).c_str();
  }

  const ServiceContext& context_;
  Handler handler_;
  const std::string name_;
  std::list<std::string> paths_;
};

}  // namespace plait
