#include "telemetry/sources/scrape.h"

#include "telemetry/names.h"

namespace weft::telemetry {

ScrapeSource::ScrapeSource(std::string url, LabelMap labels, SeriesTable& series, Duration every, HttpOptions http)
    : url_(std::move(url)), labels_(std::move(labels)), series_(series), every_(every), http_(std::move(http)) {
  std::size_t start = url_.find("://");
  start = start == std::string::npos ? 0 : start + 3;
  host_ = url_.substr(start, url_.find_first_of(":/", start) - start);
  labels_.set_default_host(host_);
}

Status ScrapeSource::poll(Instant until, Batch& into) {
  if (last_.ns() != 0 && until - last_ < every_) return {};
  last_ = until;
  auto up = [&](double v) {
    PromSample s{metric::kNodeUp, {{"instance", host_}}, v, until, false};
    LabelMap::Target t = labels_.map(s);
    into.samples.push_back({series_.intern(metric::kNodeUp, t.entity), until, v});
  };
  auto response = http_ok(http_get(url_, http_), url_);
  if (!response) {
    up(0);
    return std::unexpected(response.error());
  }
  auto read = read_prometheus(response->body, url_, until, labels_, series_, into);
  up(read ? 1 : 0);
  if (!read) return std::unexpected(read.error());
  summary_.samples += read->samples, summary_.unmapped += read->unmapped, summary_.bad_lines += read->bad_lines;
  if (summary_.first_bad.empty()) summary_.first_bad = read->first_bad;
  if (summary_.first_unmapped.empty()) summary_.first_unmapped = read->first_unmapped;
  return {};
}

}  // namespace weft::telemetry
