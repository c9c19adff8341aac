// `weft audit --store FILE`: what was planned, done, released and why, from the journal of a run.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/report.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "store/store.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--store", "FILE", "the journal, as named to weft up (required)"},
    {"--entity", "TEXT", "only entries about parts whose name contains this"},
    {"--who", "NAME", "only what this owner did"},
    {"--incident", "ID", "only what belongs to this incident, e.g. I0007"},
    {"--kind", "KIND", "only these entries: plan, intent, outcome, incident, done, failed, release, kept …"},
    {"--from", "TIME", "not before: 2026-01-01T00:00:00Z, or 10m after the first entry"},
    {"--to", "TIME", "not after, in the same forms"},
    {"--limit", "N", "the newest N entries (default 200)"},
    {"--json", "", "one JSON object a line, with what changed"},
};
constexpr const char* kExamples =
    "  weft audit --store run.db\n  weft audit --store run.db --entity sn1/node3 --from 10m --to 30m\n  weft audit --store run.db "
    "--incident I0002 --json\n";

Result<Instant> parse_time(const Options& options, const std::string& name, Instant first, Instant otherwise) {
  if (!options.has(name)) return otherwise;
  std::string text = options.get(name);
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, used = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) == 6) {
    std::string rest = text.substr(static_cast<std::size_t>(used));
    if ((rest.empty() || rest == "Z") && mo >= 1 && mo <= 12 && d >= 1 && d <= 31 && h < 24 && mi < 60 && s < 60 && y >= 1970 && y < 2262) {
      std::chrono::year_month_day day{std::chrono::year(y), std::chrono::month(static_cast<unsigned>(mo)),
                                      std::chrono::day(static_cast<unsigned>(d))};
      if (day.ok())
        return Instant(std::chrono::sys_days(day).time_since_epoch().count() * 86'400'000'000'000) + seconds(h * 3600 + mi * 60 + s);
    }
    return fail(ErrorKind::kInvalid, "--" + name + " '" + text + "' is no time; write 2026-01-01T00:00:00Z, or 10m");
  }
  auto after = options.seconds(name, 0);
  if (!after)
    return fail(ErrorKind::kInvalid,
                "--" + name + " '" + text + "' is no time; write 2026-01-01T00:00:00Z, or 10m (after the first entry)");
  return first + seconds(*after);
}

bool belongs(const store::JournalEntry& e, const std::string& incident, std::vector<std::string>& plans) {
  if (incident.empty() || e.subject == incident) return true;
  if (e.kind == "plan" && e.after->is_object() && e.after->value("incident", "") == incident) return plans.push_back(e.subject), true;
  std::string plan = e.subject.substr(0, e.subject.find('.'));
  return std::find(plans.begin(), plans.end(), plan) != plans.end();
}

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft audit --store FILE [filters]",
                         "What was planned, done, measured, released, by whom and why. Exit code 0: found, 1: no entry matches.", kOptions,
                         kExamples);
    return 0;
  }
  if (!options->positional.empty())
    return report_error(Error{ErrorKind::kInvalid, "unexpected '" + options->positional[0] + "'; usage: weft audit --store FILE", ""}, io);
  std::string file = options->get("store");
  if (file.empty()) return report_error(Error{ErrorKind::kInvalid, "--store FILE is needed: the journal named to weft up --store", ""}, io);
  // Opening would create it.
  if (!std::filesystem::is_regular_file(file)) return report_error(Error{ErrorKind::kNotFound, "no such journal", file}, io);
  auto limit = options->integer("limit", 200, 1, 10'000'000);
  if (!limit) return report_error(limit.error(), io);
  auto opened = store::backends().find("sqlite")->open(file);
  if (!opened) return report_error(opened.error(), io);
  store::Store& journal = **opened;
  auto head = journal.read(0, 1);
  if (!head) return report_error(head.error(), io);
  Instant first = head->empty() ? Instant() : head->front().at;
  // Times are told as the terminal told them: from the beginning of the run that an entry belongs to.
  std::vector<std::pair<std::int64_t, Instant>> beginnings;
  if (auto all = journal.audit("", "", Instant(INT64_MIN), Instant(INT64_MAX), SIZE_MAX))
    for (auto e = all->rbegin(); e != all->rend(); ++e)
      if (e->kind == "run") beginnings.emplace_back(e->sequence, e->at);
  auto since_beginning = [&](const store::JournalEntry& e) {
    Instant begin = first;
    for (const auto& [sequence, at] : beginnings)
      if (sequence <= e.sequence) begin = at;
    return clock_text(e.at - begin);
  };
  auto from = parse_time(*options, "from", first, Instant(INT64_MIN)), to = parse_time(*options, "to", first, Instant(INT64_MAX));
  if (!from) return report_error(from.error(), io);
  if (!to) return report_error(to.error(), io);
  if (*from > *to) return report_error(Error{ErrorKind::kInvalid, "--from is after --to", ""}, io);
  auto found = journal.audit(options->get("entity"), options->get("who"), *from, *to, SIZE_MAX);
  if (!found) return report_error(found.error(), io);
  std::reverse(found->begin(), found->end());  // a story is read forwards
  std::vector<std::string> plans;
  std::string incident = options->get("incident"), kind = options->get("kind");
  std::vector<store::JournalEntry> list;
  for (auto& e : *found)
    if (belongs(e, incident, plans) && (kind.empty() || e.kind == kind)) list.push_back(std::move(e));
  std::size_t left_out = list.size() > static_cast<std::size_t>(*limit) ? list.size() - static_cast<std::size_t>(*limit) : 0;
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(left_out));
  if (options->has("json")) {
    for (const auto& e : list)
      io.out << dump_json({{"sequence", e.sequence},
                           {"at", iso8601(e.at)},
                           {"kind", e.kind},
                           {"subject", e.subject},
                           {"entity", e.entity},
                           {"who", e.who},
                           {"why", e.why},
                           {"before", *e.before},
                           {"after", *e.after}},
                          -1)
             << "\n";
  } else {
    Report report;
    report.title = fmt::format("{} of {}", list.size() == 1 ? "1 entry" : fmt::format("{} entries", list.size()), file);
    Table table;
    table.columns = {{"#", Align::kRight}, {"time"}, {"kind"}, {"subject"}, {"part"}, {"who"}, {"why"}};
    for (const auto& e : list)
      table.rows.push_back({std::to_string(e.sequence), since_beginning(e), e.kind, e.subject, e.entity, e.who, e.why});
    Section& section = report.sections.emplace_back();
    if (!list.empty()) section.facts = {{"time 00:00:00", iso8601(first)}};
    section.tables.push_back(std::move(table));
    io.out << to_text(report);
  }
  if (left_out) io.err << fmt::format("{} older entries left out; --limit N shows more\n", left_out);
  return list.empty() ? 1 : 0;
}

WEFT_REGISTER(commands(), {"audit", "what was done to the machine, by whom, when and why", run});

}  // namespace
}  // namespace weft::cli
