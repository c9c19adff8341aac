#include "cli/measured_table.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "base/text.h"

namespace weft::cli {

Result<MeasuredTable> measured_table(const Options& options) {
  constexpr const char* kCarried = "data/measured/training-measured.csv";
  if (options.positional.size() > 1) return fail(ErrorKind::kInvalid, "one table at a time");
  MeasuredTable out;
  out.file = options.positional.empty() ? kCarried : options.positional[0];
  WEFT_ASSIGN(auto text, options.positional.empty() ? embedded_file(kCarried) : read_file(out.file, 64 << 20));
  WEFT_ASSIGN(auto table, parse_csv(text, out.file));
  WEFT_ASSIGN(out.rows, plan::measured_rows(table));
  return out;
}

std::string percent_text(double share, bool sign) {
  return !std::isfinite(share) ? "–" : sign ? fmt::format("{:+.1f}", 100 * share) : fmt::format("{:.1f}", 100 * share);
}
Json share_json(double share) { return std::isfinite(share) ? Json(share) : Json(); }

Json errors_json(const plan::SourceErrors& s) {
  Json reasons = Json::object();
  for (const auto& [why, n] : s.reasons) reasons[why] = n;
  Json out{{"source", s.name}, {"rows", s.rows}, {"predicted", s.predicted}, {"refused", {{"count", s.refused}, {"reasons", reasons}}}};
  out["mean_abs_error"] = s.predicted ? Json(s.mean_abs_error) : Json();
  out["bias"] = s.predicted ? Json(s.bias) : Json();
  out["worst"] = s.predicted ? Json(s.worst) : Json();
  out["dumb_error"] = share_json(s.dumb_error), out["dumb_unseen_error"] = share_json(s.dumb_unseen_error);
  return out;
}

}  // namespace weft::cli
