// Any bytes: an error that names the input, or samples that can be mapped and kept. A second reading gives the same samples.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "telemetry/sources/file.h"
#include "telemetry/windows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::telemetry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  SeriesTable table;
  LabelMap labels;
  Batch first, second;
  auto a = read_prometheus(text, "fuzz.prom", Instant(1'000'000'000), labels, table, first);
  auto b = read_prometheus(text, "fuzz.prom", Instant(1'000'000'000), labels, table, second);
  if (a.has_value() != b.has_value()) abort();
  if (!a) {
    if (a.error().kind != ErrorKind::kInvalid || a.error().text().find("fuzz.prom") == std::string::npos) abort();
  } else {
    if (a->samples != first.samples.size() || first.samples.size() != second.samples.size()) abort();
    for (std::size_t i = 0; i < first.samples.size(); ++i)
      if (first.samples[i].series != second.samples[i].series || first.samples[i].at != second.samples[i].at) abort();
    Windows windows(table);
    windows.append(first.samples);
  }
  Batch events;
  (void)read_events(text, "fuzz.log", events);
  return 0;
}
