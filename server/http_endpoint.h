#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/telemetry/metrics.h"

struct mg_context;
struct mg_connection;

namespace plait {

// Answers GET /metrics (Prometheus), /livez (200 while the process lives) and /readyz (200 when
// jobs are taken, else 503 with the reason). Thread-safe.
//
// Without TLS and without asking who calls: it tells rates and levels, never a job, model or
// tenant, and the operator chooses who reaches the address.
class HttpEndpoint {
 public:
  // Listens on "host:port"; port 0 takes a free one. `metrics` must outlive the endpoint;
  // `unready_reason` returns an empty text when the server is ready.
  // Errors: Unavailable when the address cannot be used.
  // `unready_reason` is called on a thread of the endpoint's, possibly on two at once, and may ask
  // the storage.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(
      const std::string& address, Metrics& metrics, std::function<std::string()> unready_reason);
  // Returns when no request is being answered any more.
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // "host:port" with the port in use.
  const std::string& address() const { return address_; }

 private:
  HttpEndpoint(Metrics& metrics, std::function<std::string()> unready_reason)
      : metrics_(metrics), unready_reason_(std::move(unready_reason)) {}

  // Each returns the HTTP status that it has answered with, as civetweb wants it. `endpoint` is
  // this object.
  static int HandleMetrics(mg_connection* connection, void* endpoint);
  static int HandleLive(mg_connection* connection, void* endpoint);
  static int HandleReady(mg_connection* connection, void* endpoint);

  Metrics& metrics_;
  const std::function<std::string()> unready_reason_;
  std::string address_;
  // Owned: civetweb's threads and socket.
  mg_context* server_ = nullptr;
};

}  // namespace plait
