// HTTP client for scrapes, agents and schedulers: one request, one answer, bounded in time and size, redirects not followed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft {

struct HttpOptions {
  Duration timeout = seconds(10);                 // for the whole exchange
  std::size_t max_bytes = std::size_t{64} << 20;  // of the (decompressed) body
  std::vector<std::pair<std::string, std::string>> headers;
  std::string ca_file;  // PEM; empty: the system's
};

struct HttpResponse {
  int status = 0;
  std::string body;
  std::string content_type;
};

// `url`: http:// or https://, host[:port], path and query. Any status is a response; errors are: invalid (URL, too large), unavailable (not
// reached, cut off, too slow), denied (certificate not trusted). The place of an error is the URL.
Result<HttpResponse> http_get(const std::string& url, const HttpOptions& options = {});
Result<HttpResponse> http_post(const std::string& url, std::string body, std::string_view content_type, const HttpOptions& options = {});

// The response if its status is 2xx, else an error of the fitting kind with the start of the body.
Result<HttpResponse> http_ok(Result<HttpResponse> response, const std::string& url);

}  // namespace weft
