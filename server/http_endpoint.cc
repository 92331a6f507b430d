#include "server/http_endpoint.h"

#include <civetweb.h>
#include <prometheus/text_serializer.h>

#include "absl/strings/str_cat.h"

namespace plait {

HttpPages MetricsPages(Metrics& metrics) {
  return {{"/metrics", [&metrics] {
             return HttpAnswer{
                 200, "text/plain; version=0.0.4; charset=utf-8",
                 prometheus::TextSerializer().Serialize(metrics.registry().Collect())};
           }}};
}

HttpPages HealthPages(std::function<std::string()> unready_reason) {
  return {{"/livez",
           [] {
             return HttpAnswer{200, "text/plain", "ok\n"};
           }},
          {"/readyz", [unready_reason = std::move(unready_reason)] {
             const std::string reason = unready_reason();
             // The reason is of a fixed few, so it tells nothing of jobs.
             if (reason.empty()) return HttpAnswer{200, "text/plain", "ok\n"};
             return HttpAnswer{503, "text/plain", absl::StrCat(reason, "\n")};
           }}};
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(absl::string_view setting,
                                                                  const std::string& address,
                                                                  HttpPages pages) {
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint(std::move(pages)));
  // Four threads for as many readers at a time, and 2 s for one that says nothing.
  const char* options[] = {"listening_ports",    address.c_str(), "num_threads", "4",
                           "request_timeout_ms", "2000",          nullptr};
  const mg_callbacks callbacks = {};
  endpoint->server_ = mg_start(&callbacks, nullptr, options);
  if (endpoint->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat(setting, ": cannot listen on ", address,
                                               " (is another process using the port?)"));
  }
  // Port 0 was replaced by a free one.
  mg_server_port port = {};
  mg_get_server_ports(endpoint->server_, 1, &port);
  endpoint->address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", port.port);
  for (auto& [path, page] : endpoint->pages_) {
    mg_set_request_handler(endpoint->server_, path.c_str(), Handle, &page);
  }
  return endpoint;
}

HttpEndpoint::~HttpEndpoint() {
  // Waits for requests that are being answered: they use what this object refers to.
  if (server_ != nullptr) mg_stop(server_);
}

int HttpEndpoint::Handle(mg_connection* connection, void* page) {
  const HttpAnswer answer = (*static_cast<std::function<HttpAnswer()>*>(page))();
  // One answer a connection: scrapes are seconds apart.
  const std::string text =
      absl::StrCat("HTTP/1.1 ", answer.code, answer.code == 200 ? " OK" : " Service Unavailable",
                   "\r\nContent-Type: ", answer.type, "\r\nContent-Length: ", answer.body.size(),
                   "\r\nConnection: close\r\n\r\n", answer.body);
  mg_write(connection, text.data(), text.size());
  return answer.code;
}

}  // namespace plait
