#include "server/http_endpoint.h"

#include <civetweb.h>
#include <prometheus/text_serializer.h>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

// One answer a connection: scrapes are seconds apart.
int Answer(mg_connection* connection, int code, absl::string_view type, absl::string_view body) {
  const std::string text = absl::StrCat(
      "HTTP/1.1 ", code, code == 200 ? " OK" : " Service Unavailable", "\r\nContent-Type: ", type,
      "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
  mg_write(connection, text.data(), text.size());
  return code;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(
    const std::string& address, Metrics& metrics, std::function<std::string()> unready_reason) {
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint(metrics, std::move(unready_reason)));
  // Two threads: a scrape that is slow must not make the process look dead to /livez.
  const char* options[] = {"listening_ports", address.c_str(), "num_threads", "2", nullptr};
  const mg_callbacks callbacks = {};
  endpoint->server_ = mg_start(&callbacks, nullptr, options);
  if (endpoint->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("metrics-listen: cannot listen on ", address,
                                               " (is another process using the port?)"));
  }
  // Port 0 was replaced by a free one.
  mg_server_port port = {};
  mg_get_server_ports(endpoint->server_, 1, &port);
  endpoint->address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", port.port);
  mg_set_request_handler(endpoint->server_, "/metrics", HandleMetrics, endpoint.get());
  mg_set_request_handler(endpoint->server_, "/livez", HandleLive, endpoint.get());
  mg_set_request_handler(endpoint->server_, "/readyz", HandleReady, endpoint.get());
  return endpoint;
}

HttpEndpoint::~HttpEndpoint() {
  // Waits for requests that are being answered: they use what this object refers to.
  if (server_ != nullptr) mg_stop(server_);
}

int HttpEndpoint::HandleMetrics(mg_connection* connection, void* endpoint) {
  const auto* self = static_cast<HttpEndpoint*>(endpoint);
  const std::string text =
      prometheus::TextSerializer().Serialize(self->metrics_.registry().Collect());
  return Answer(connection, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

int HttpEndpoint::HandleLive(mg_connection* connection, void*) {
  return Answer(connection, 200, "text/plain", "ok\n");
}

int HttpEndpoint::HandleReady(mg_connection* connection, void* endpoint) {
  const std::string reason = static_cast<HttpEndpoint*>(endpoint)->unready_reason_();
  // The reason is of a fixed few, so it tells nothing of jobs.
  if (reason.empty()) return Answer(connection, 200, "text/plain", "ok\n");
  return Answer(connection, 503, "text/plain", absl::StrCat(reason, "\n"));
}

}  // namespace plait
