#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/telemetry/metrics.h"

struct mg_context;
struct mg_connection;

namespace plait {

// What a page says now. Called on a thread of the endpoint's, possibly on two at once.
struct HttpAnswer {
  int code = 200;
  std::string type;
  std::string body;
};
using HttpPages = std::map<std::string, std::function<HttpAnswer()>>;

// /metrics (Prometheus). `metrics` must outlive the pages.
HttpPages MetricsPages(Metrics& metrics);

// /livez (200 while the process lives) and /readyz (200 when jobs are taken, else 503 with the
// reason). `unready_reason` returns an empty text when the server is ready; it must not wait.
HttpPages HealthPages(std::function<std::string()> unready_reason);

// Answers GET of some pages, with threads of its own. Thread-safe.
//
// Without TLS and without asking who calls: it tells rates and levels, never a job, model or
// tenant, and the operator chooses who reaches the address. A connection that is silent for a few
// seconds is closed.
class HttpEndpoint {
 public:
  // Listens on "host:port"; port 0 takes a free one.
  // Errors: Unavailable naming the setting when the address cannot be used.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(absl::string_view setting,
                                                             const std::string& address,
                                                             HttpPages pages);
  // Returns when no request is being answered any more.
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // "host:port" with the port in use.
  const std::string& address() const { return address_; }

 private:
  explicit HttpEndpoint(HttpPages pages) : pages_(std::move(pages)) {}

  // Returns the HTTP status that it has answered with, as civetweb wants it. `page` is a function
  // in pages_.
  static int Handle(mg_connection* connection, void* page);

  HttpPages pages_;
  std::string address_;
  // Owned: civetweb's threads and socket.
  mg_context* server_ = nullptr;
};

}  // namespace plait
