// A Prometheus endpoint read over HTTP, at most once per interval.
#pragma once

#include <string>

#include "base/http.h"
#include "telemetry/sources/file.h"
#include "telemetry/types.h"

namespace weft::telemetry {

class ScrapeSource : public Source {
 public:
  ScrapeSource(std::string url, LabelMap labels, SeriesTable& series, Duration every = seconds(15), HttpOptions http = {});
  // Also emits up=1 or 0 for the host of the URL, as Prometheus does. An endpoint that fails is an error (unavailable) once per attempt.
  Status poll(Instant until, Batch& into) override;
  std::string name() const override { return url_; }
  const FileSummary& summary() const { return summary_; }  // of all answers

 private:
  std::string url_, host_;
  LabelMap labels_;
  SeriesTable& series_;
  Duration every_;
  HttpOptions http_;
  Instant last_;
  FileSummary summary_;
};

}  // namespace weft::telemetry
